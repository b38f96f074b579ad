/* SPDX-License-Identifier: MIT
 *
 * One face for both generations of libdwarf: 20210528 and before, and 0.x and later (HAVE_LIBDWARF_NEW). Every call frees its own error
 * object and says only whether it gave something. dwarf.h and libdwarf.h are included through here and nowhere else.
 */
#ifndef SYMBOLS_DWARF_COMPAT_H
#define SYMBOLS_DWARF_COMPAT_H

#include <dwarf.h>
#include <libdwarf.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether a call gave something. An error object is freed: with the automatic freeing switched off nobody else does. */
static inline bool dwarf_gave(Dwarf_Debug debug, int result, Dwarf_Error error)
{
	if (result == DW_DLV_ERROR && error)
		dwarf_dealloc_error(debug, error);
	return result == DW_DLV_OK;
}

/* Calls a libdwarf function that ends in a Dwarf_Error *; debug is whose error it would be. */
#define DWARF_CALL(debug, function, ...)                      \
	({                                                    \
		Dwarf_Error error_ = NULL;                    \
		int result_ = function(__VA_ARGS__, &error_); \
		dwarf_gave(debug, result_, error_);           \
	})

/* Everything that is freed by hand is not also kept in libdwarf's own tree of allocations: a third of the time. Process-wide. */
static inline void dwarf_compat_start(void)
{
	dwarf_set_de_alloc_flag(0);
}

static inline Dwarf_Debug dwarf_compat_open(const char *path)
{
	Dwarf_Debug debug = NULL;
	Dwarf_Error error = NULL;
#ifdef HAVE_LIBDWARF_NEW
	int result = dwarf_init_path(path, NULL, 0, DW_GROUPNUMBER_ANY, NULL, NULL, &debug, &error);
#else
	int result = dwarf_init_path(path, NULL, 0, DW_DLC_READ, DW_GROUPNUMBER_ANY, NULL, NULL, &debug, NULL, 0, NULL, &error);
#endif
	return dwarf_gave(NULL, result, error) ? debug : NULL;
}

static inline void dwarf_compat_close(Dwarf_Debug debug)
{
#ifdef HAVE_LIBDWARF_NEW
	dwarf_finish(debug);
#else
	DWARF_CALL(NULL, dwarf_finish, debug);
#endif
}

static inline bool dwarf_compat_sibling(Dwarf_Debug debug, Dwarf_Die die, Dwarf_Die *sibling)
{
	return DWARF_CALL(debug, dwarf_siblingof_b, debug, die, 1, sibling);
}

/* What is of interest in a unit's header. */
struct dwarf_compat_unit {
	Dwarf_Half version;
	Dwarf_Sig8 signature; /* DWARF 5: of the split unit */
};

/* Steps to the next unit of .debug_info; *die is its first DIE, to be freed, or NULL when that cannot be read. False after the last. */
static inline bool dwarf_compat_next_unit(Dwarf_Debug debug, struct dwarf_compat_unit *unit, Dwarf_Die *die)
{
	Dwarf_Unsigned header_length, type_offset, next_offset;
	Dwarf_Off abbreviations;
	Dwarf_Half address_size, length_size, extension_size, type;

	*die = NULL;
#ifdef HAVE_LIBDWARF_NEW
	return DWARF_CALL(debug, dwarf_next_cu_header_e, debug, 1, die, &header_length, &unit->version, &abbreviations, &address_size,
			  &length_size, &extension_size, &unit->signature, &type_offset, &next_offset, &type);
#else
	if (!DWARF_CALL(debug, dwarf_next_cu_header_d, debug, 1, &header_length, &unit->version, &abbreviations, &address_size,
			&length_size, &extension_size, &unit->signature, &type_offset, &next_offset, &type))
		return false;
	if (!dwarf_compat_sibling(debug, NULL, die))
		*die = NULL;
	return true;
#endif
}

static inline void dwarf_compat_free_ranges(Dwarf_Debug debug, Dwarf_Ranges *ranges, Dwarf_Signed count)
{
#ifdef HAVE_LIBDWARF_NEW
	dwarf_dealloc_ranges(debug, ranges, count);
#else
	dwarf_ranges_dealloc(debug, ranges, count);
#endif
}

#endif
