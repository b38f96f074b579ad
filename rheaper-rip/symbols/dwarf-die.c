/* SPDX-License-Identifier: MIT
 *
 * Thin readers over libdwarf: each frees the attribute that it fetched.
 */
#include "config.h"

#include "symbols/dwarf-die.h"

/* A function is two or three steps from its name (instance, definition, declaration); more are a circle. */
#define REFERENCE_DEPTH 8

static bool fetch(Dwarf_Debug debug, Dwarf_Die die, Dwarf_Half code, Dwarf_Attribute *attribute)
{
	return DWARF_CALL(debug, dwarf_attr, die, code, attribute);
}

static bool number_of(Dwarf_Debug debug, Dwarf_Attribute attribute, uint64_t *value)
{
	Dwarf_Unsigned positive;
	Dwarf_Signed either;

	if (DWARF_CALL(debug, dwarf_formudata, attribute, &positive)) {
		*value = positive;
		return true;
	}
	if (!DWARF_CALL(debug, dwarf_formsdata, attribute, &either))
		return false;
	*value = (uint64_t)either;
	return true;
}

/* DWARF 2 and 3 write offsets as plain data. */
static bool offset_of(Dwarf_Debug debug, Dwarf_Attribute attribute, uint64_t *value)
{
	Dwarf_Off offset;

	if (!DWARF_CALL(debug, dwarf_global_formref, attribute, &offset))
		return number_of(debug, attribute, value);
	*value = offset;
	return true;
}

bool symbols_die_number(Dwarf_Debug debug, Dwarf_Die die, Dwarf_Half code, uint64_t *value)
{
	Dwarf_Attribute attribute;

	if (!fetch(debug, die, code, &attribute))
		return false;
	bool found = number_of(debug, attribute, value);

	dwarf_dealloc_attribute(attribute);
	return found;
}

bool symbols_die_offset(Dwarf_Debug debug, Dwarf_Die die, Dwarf_Half code, uint64_t *offset)
{
	Dwarf_Attribute attribute;

	if (!fetch(debug, die, code, &attribute))
		return false;
	bool found = offset_of(debug, attribute, offset);

	dwarf_dealloc_attribute(attribute);
	return found;
}

const char *symbols_die_string(Dwarf_Debug debug, Dwarf_Die die, Dwarf_Half code)
{
	Dwarf_Attribute attribute;
	char *string = NULL;

	if (!fetch(debug, die, code, &attribute))
		return NULL;
	if (!DWARF_CALL(debug, dwarf_formstring, attribute, &string))
		string = NULL;
	dwarf_dealloc_attribute(attribute);
	return string;
}

bool symbols_die_reference(const struct symbols_debug *debug, Dwarf_Debug from, Dwarf_Die die, Dwarf_Half code, Dwarf_Die *target,
			   Dwarf_Debug *whose)
{
	Dwarf_Attribute attribute;
	Dwarf_Half form = 0;
	Dwarf_Off offset;

	if (!fetch(from, die, code, &attribute))
		return false;
	bool found = DWARF_CALL(from, dwarf_whatform, attribute, &form) && DWARF_CALL(from, dwarf_global_formref, attribute, &offset);

	dwarf_dealloc_attribute(attribute);
	*whose = form == DW_FORM_GNU_ref_alt || form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8 ? debug->shared : from;
	return found && *whose && DWARF_CALL(*whose, dwarf_offdie_b, *whose, offset, 1, target);
}

static void names_of(const struct symbols_debug *debug, Dwarf_Debug whose, Dwarf_Die die, struct symbols_die_names *names, unsigned depth)
{
	static const Dwarf_Half origins[] = {DW_AT_abstract_origin, DW_AT_specification};

	names->linkage = symbols_die_string(whose, die, DW_AT_linkage_name);
	if (!names->linkage)
		names->linkage = symbols_die_string(whose, die, DW_AT_MIPS_linkage_name);
	if (!names->name)
		names->name = symbols_die_string(whose, die, DW_AT_name);
	for (unsigned i = 0; i < 2 && !names->linkage && depth < REFERENCE_DEPTH; i++) {
		Dwarf_Die origin;
		Dwarf_Debug owner;

		if (symbols_die_reference(debug, whose, die, origins[i], &origin, &owner)) {
			names_of(debug, owner, origin, names, depth + 1);
			dwarf_dealloc_die(origin);
		}
	}
}

void symbols_die_names(const struct symbols_debug *debug, Dwarf_Die die, struct symbols_die_names *names)
{
	*names = (struct symbols_die_names){0};
	names_of(debug, debug->self, die, names, 0);
}

/* ---- Ranges ---- */

struct sink {
	struct symbols_intervals *intervals;
	uint64_t lowest;
	uint32_t owner;
	enum symbols_die_extent extent;
};

/* A tombstone of a thrown away function is 0, 1, -1 or -2 (linkers differ): too low, or wrapping to an end below its start. */
static void pour(struct sink *sink, uint64_t low, uint64_t high)
{
	if (low < sink->lowest || low >= high || sink->extent == SYMBOLS_DIE_NO_MEMORY)
		return;
	sink->extent = symbols_intervals_add(sink->intervals, low, high, sink->owner) ? SYMBOLS_DIE_HAS_CODE : SYMBOLS_DIE_NO_MEMORY;
}

/* .debug_rnglists, DWARF 5 */
static void range_lists(Dwarf_Debug debug, Dwarf_Die die, Dwarf_Attribute attribute, const struct symbols_die_bases *bases,
			struct sink *sink)
{
	Dwarf_Half form;
	uint64_t where, low, high;
	struct symbols_range_cursor cursor;

	if (!DWARF_CALL(debug, dwarf_whatform, attribute, &form))
		return;
	if (!(form == DW_FORM_rnglistx ? number_of : offset_of)(debug, attribute, &where))
		return;
	symbols_lists_start(&cursor, &bases->lists, debug, die, form, where, bases->address);
	while (symbols_lists_next(&cursor, &low, &high))
		pour(sink, low, high);
}

/* .debug_ranges, before DWARF 5 */
static void old_ranges(Dwarf_Debug debug, Dwarf_Die die, Dwarf_Attribute attribute, const struct symbols_die_bases *bases,
		       struct sink *sink)
{
	uint64_t where, base = bases->address;
	Dwarf_Off real;
	Dwarf_Ranges *ranges;
	Dwarf_Signed count;
	Dwarf_Unsigned bytes;

	if (!offset_of(debug, attribute, &where) ||
	    !DWARF_CALL(debug, dwarf_get_ranges_b, debug, where + bases->ranges, die, &real, &ranges, &count, &bytes))
		return;
	for (Dwarf_Signed i = 0; i < count && ranges[i].dwr_type != DW_RANGES_END; i++) {
		if (ranges[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
			base = ranges[i].dwr_addr2;
		else
			pour(sink, base + ranges[i].dwr_addr1, base + ranges[i].dwr_addr2);
	}
	dwarf_compat_free_ranges(debug, ranges, count);
}

enum symbols_die_extent symbols_die_ranges(Dwarf_Debug debug, Dwarf_Die die, const struct symbols_die_bases *bases, uint64_t lowest,
					   struct symbols_intervals *intervals, uint32_t owner)
{
	struct sink sink = {intervals, lowest, owner, SYMBOLS_DIE_NO_CODE};
	Dwarf_Attribute attribute;
	Dwarf_Addr low, high;
	Dwarf_Half form, version, offset_size;
	enum Dwarf_Form_Class class;

	if (fetch(debug, die, DW_AT_ranges, &attribute)) {
		if (dwarf_get_version_of_die(die, &version, &offset_size) == DW_DLV_OK && version >= 5)
			range_lists(debug, die, attribute, bases, &sink);
		else
			old_ranges(debug, die, attribute, bases, &sink);
		dwarf_dealloc_attribute(attribute);
	} else if (DWARF_CALL(debug, dwarf_lowpc, die, &low) && DWARF_CALL(debug, dwarf_highpc_b, die, &high, &form, &class)) {
		pour(&sink, low, class == DW_FORM_CLASS_CONSTANT ? low + high : high);
	}
	return sink.extent;
}
