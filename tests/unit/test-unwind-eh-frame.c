/* SPDX-License-Identifier: MIT
 *
 * Reading call frame information: what it means, and that damaged bytes are never read past.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "unwind/derive.h"
#include "unwind/eh_frame.h"
#include "unwind/rows.h"

/* ---- Information made by hand -------------------------------------------------------------------------------------------------- */

#define CODE_AT 768 /* where the code lies that the FDE tells of */
#define CODE_SIZE 256

static uint8_t section[1024] __attribute__((aligned(16)));
static unsigned used;

static void put(const void *bytes, unsigned size)
{
	assert_true(used + size <= CODE_AT);
	memcpy(section + used, bytes, size);
	used += size;
}

static void put_word(uint32_t word)
{
	put(&word, 4);
}

static void pad_and_close(unsigned length_at)
{
	uint32_t length;

	while (used % 8 != 4)
		put("", 1);
	length = used - length_at - 4;
	memcpy(section + length_at, &length, 4);
}

static const uint8_t *code(unsigned offset)
{
	return section + CODE_AT + offset;
}

/* x86-64's usual start: CFA = rsp + 8, return address at CFA - 8. */
#define USUAL "\x0c\x07\x08\x90\x01"

/* One CIE with this augmentation ("zR" or with more letters; data follows) and one FDE with these instructions. Returns the object. */
#define MAKE(AUGMENTATION, DATA, INSTRUCTIONS) make(AUGMENTATION, DATA, sizeof(DATA) - 1, INSTRUCTIONS, sizeof(INSTRUCTIONS) - 1)

static struct rh_object make(const char *augmentation, const char *data, unsigned data_size, const char *instructions, unsigned size)
{
	struct rh_object object = {section, section + sizeof(section), section};
	unsigned cie, fde;
	uint8_t byte;

	memset(section, 0, sizeof(section));
	used = 0;
	put("\x01\x1b\x03\x3b", 4);  /* version; frame, pc-relative; count; table, relative to the header */
	put_word(20 - 4);            /* .eh_frame follows the table */
	put_word(1);                 /* FDEs */
	put_word(CODE_AT);           /* first pc, and its FDE, filled in below */
	used = 20;
	cie = used;
	put_word(0);
	put_word(0);
	put("\x01", 1);
	put(augmentation, (unsigned)strlen(augmentation) + 1);
	put("\x01\x78\x10", 3); /* code factor 1, data factor -8, return address register 16 */
	byte = (uint8_t)data_size;
	put(&byte, 1);
	put(data, data_size);
	put(USUAL, sizeof(USUAL) - 1);
	pad_and_close(cie);

	fde = used;
	memcpy(section + 16, &fde, 4);
	put_word(0);
	put_word(used - cie);
	put_word(CODE_AT - used);
	put_word(CODE_SIZE);
	put("", 1); /* no augmentation data */
	put(instructions, size);
	pad_and_close(fde);
	put_word(0); /* the end of .eh_frame */
	return object;
}

#define PC_RELATIVE "\x1b"

static struct rh_cfi find(const struct rh_object *object, unsigned offset)
{
	struct rh_cfi cfi;

	assert_int_equal(rh_cfi_find(object, (uintptr_t)code(offset), &cfi), RH_CFI_FOUND);
	return cfi;
}

static struct rh_row row(const struct rh_object *object, unsigned offset)
{
	struct rh_cfi cfi = find(object, offset);

	return rh_row_from(&cfi, object->end, (uintptr_t)code(offset));
}

static void assert_row(const struct rh_object *object, unsigned offset, enum rh_row_kind kind, int cfa_offset, int fp_offset)
{
	struct rh_row got = row(object, offset);

	assert_int_equal(got.kind, kind);
	assert_int_equal(got.cfa_offset, cfa_offset);
	assert_int_equal(got.fp_offset, fp_offset);
}

static void a_prologue_changes_the_row_instruction_by_instruction(void **state)
{
	/* push %rbp; mov %rsp, %rbp; ...; after 100 bytes leave */
	struct rh_object object = MAKE("zR", PC_RELATIVE, "\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\x64\xc6\x0c\x07\x08");

	(void)state;
	assert_row(&object, 0, RH_ROW_SP, 8, RH_FP_KEPT);
	assert_row(&object, 1, RH_ROW_SP, 16, -16);
	assert_row(&object, 3, RH_ROW_SP, 16, -16);
	assert_row(&object, 4, RH_ROW_FP, 16, -16);
	assert_row(&object, 103, RH_ROW_FP, 16, -16);
	assert_row(&object, 104, RH_ROW_SP, 8, RH_FP_KEPT);
	assert_row(&object, CODE_SIZE - 1, RH_ROW_SP, 8, RH_FP_KEPT);
}

static void a_remembered_state_comes_back_with_its_cfa(void **state)
{
	struct rh_object object = MAKE("zR", PC_RELATIVE, "\x41\x0e\x20\x86\x03\x0a\x41\x0e\x08\xc6\x41\x0b");

	(void)state;
	assert_row(&object, 1, RH_ROW_SP, 32, -24);
	assert_row(&object, 2, RH_ROW_SP, 8, RH_FP_KEPT);
	assert_row(&object, 3, RH_ROW_SP, 32, -24);
}

static void long_and_signed_forms_mean_the_same(void **state)
{
	/* advance_loc2 16, def_cfa_sf rsp -4 (32), offset_extended_sf rbp 2, advance_loc4 16, def_cfa_offset_sf -5 (40), restore_extended */
	struct rh_object object =
		MAKE("zR", PC_RELATIVE, "\x03\x10\x00\x12\x07\x7c\x11\x06\x02\x04\x10\x00\x00\x00\x13\x7b\x06\x06");

	(void)state;
	assert_row(&object, 15, RH_ROW_SP, 8, RH_FP_KEPT);
	assert_row(&object, 16, RH_ROW_SP, 32, -16);
	assert_row(&object, 32, RH_ROW_SP, 40, RH_FP_KEPT);
}

static void the_plts_expression_is_a_row_that_depends_on_the_pc(void **state)
{
	/* rsp + 8 + ((rip & 15) >= 11) * 8 */
	struct rh_object object =
		MAKE("zR", PC_RELATIVE, "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22");

	(void)state;
	assert_int_equal((uintptr_t)code(0) % 16, 0);
	assert_row(&object, 16, RH_ROW_SP, 8, RH_FP_KEPT);
	assert_row(&object, 26, RH_ROW_SP, 8, RH_FP_KEPT);
	assert_row(&object, 27, RH_ROW_SP, 16, RH_FP_KEPT);
	assert_row(&object, 31, RH_ROW_SP, 16, RH_FP_KEPT);
}

static void a_realigned_frame_is_a_row(void **state)
{
	/* CFA = *(rbp - 8); rbp saved at rbp + 0 */
	struct rh_object object = MAKE("zR", PC_RELATIVE, "\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00");

	(void)state;
	assert_row(&object, 0, RH_ROW_REALIGN, -8, 0);
}

static void an_undefined_return_address_is_the_end(void **state)
{
	struct rh_object object = MAKE("zR", PC_RELATIVE, "\x07\x10");

	(void)state;
	assert_int_equal(row(&object, 0).kind, RH_ROW_END);
}

static void what_a_row_cannot_express_is_hard(void **state)
{
	struct rh_object object;

	(void)state;
	object = MAKE("zR", PC_RELATIVE, "\x0d\x03"); /* CFA by rbx */
	assert_int_equal(row(&object, 0).kind, RH_ROW_HARD);
	object = MAKE("zR", PC_RELATIVE, "\x0f\x04\x77\x08\x06\x06"); /* CFA = **(rsp + 8) */
	assert_int_equal(row(&object, 0).kind, RH_ROW_HARD);
	object = MAKE("zR", PC_RELATIVE, "\x0f\x02\x73\x00"); /* CFA by an expression of rbx */
	assert_int_equal(row(&object, 0).kind, RH_ROW_HARD);
	object = MAKE("zR", PC_RELATIVE, "\x09\x06\x03"); /* rbp kept in rbx */
	assert_int_equal(row(&object, 0).kind, RH_ROW_HARD);
	object = MAKE("zR", PC_RELATIVE, "\x90\x02"); /* return address at CFA - 16 */
	assert_int_equal(row(&object, 0).kind, RH_ROW_HARD);
	object = MAKE("zR", PC_RELATIVE, "\x0e\x0c"); /* a CFA that is no multiple of a word */
	assert_int_equal(row(&object, 0).kind, RH_ROW_HARD);
	object = MAKE("zRS", PC_RELATIVE, ""); /* a signal frame, but not the kernel's */
	assert_int_equal(row(&object, 0).kind, RH_ROW_HARD);
}

static void the_kernels_signal_frame_is_a_row(void **state)
{
	/* CFA = *(rsp + 160), rbp at rsp + 120, return address at rsp + 168 */
	struct rh_object object =
		MAKE("zRS", PC_RELATIVE, "\x0f\x04\x77\xa0\x01\x06\x10\x06\x03\x77\xf8\x00\x10\x10\x03\x77\xa8\x01");

	(void)state;
	assert_int_equal(row(&object, 0).kind, RH_ROW_SIGNAL);
}

static void augmentations_of_cplusplus_are_skipped(void **state)
{
	struct rh_object object = MAKE("zPLR", "\x9b\x01\x02\x03\x04\x1b" PC_RELATIVE, "\x41\x0e\x10");

	(void)state;
	assert_row(&object, 1, RH_ROW_SP, 16, RH_FP_KEPT);
}

static void a_pc_outside_of_all_functions_has_nothing(void **state)
{
	struct rh_object object = MAKE("zR", PC_RELATIVE, "");
	struct rh_cfi cfi;

	(void)state;
	assert_int_equal(rh_cfi_find(&object, (uintptr_t)code(0) - 1, &cfi), RH_CFI_NONE);
	assert_int_equal(rh_cfi_find(&object, (uintptr_t)code(CODE_SIZE), &cfi), RH_CFI_NONE);
	assert_int_equal(rh_cfi_find(&object, 0, &cfi), RH_CFI_NONE);
	assert_int_equal(rh_cfi_find(&object, UINTPTR_MAX, &cfi), RH_CFI_NONE);
}

static void without_a_search_table_all_functions_are_tried(void **state)
{
	struct rh_object object = MAKE("zR", PC_RELATIVE, "\x41\x0e\x10");
	struct rh_cfi cfi;

	(void)state;
	section[2] = section[3] = 0xff;
	assert_row(&object, 0, RH_ROW_SP, 8, RH_FP_KEPT);
	assert_row(&object, 1, RH_ROW_SP, 16, RH_FP_KEPT);
	assert_int_equal(rh_cfi_find(&object, (uintptr_t)code(CODE_SIZE), &cfi), RH_CFI_NONE);
}

static void what_makes_no_sense_is_unsupported(void **state)
{
	struct rh_object object;
	struct rh_cfi cfi;

	(void)state;
#define ASSERT_UNSUPPORTED(INSTRUCTIONS)                                                                                                   \
	do {                                                                                                                               \
		object = MAKE("zR", PC_RELATIVE, INSTRUCTIONS);                                                                            \
		assert_int_equal(rh_cfi_find(&object, (uintptr_t)code(10), &cfi), RH_CFI_UNSUPPORTED);                                     \
	} while (0)
	ASSERT_UNSUPPORTED("\x3f");                                 /* unknown instruction */
	ASSERT_UNSUPPORTED("\x0b");                                 /* restore without remember */
	ASSERT_UNSUPPORTED("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"); /* remembered too often */
	ASSERT_UNSUPPORTED("\x0f\x7f\x77\x08");                     /* an expression longer than its FDE */
	ASSERT_UNSUPPORTED("\x0f\x02\x77\x08\x0d\x07");             /* the register of an expression */
	object = MAKE("eh", "", "");
	assert_int_equal(rh_cfi_find(&object, (uintptr_t)code(10), &cfi), RH_CFI_UNSUPPORTED);
	object = MAKE("zR", PC_RELATIVE, "");
	section[0] = 2;
	assert_int_equal(rh_cfi_find(&object, (uintptr_t)code(10), &cfi), RH_CFI_UNSUPPORTED);
}

/* ---- The program's own information, damaged ------------------------------------------------------------------------------------ */

static const uint8_t *segment; /* the loadable segment with .eh_frame_hdr and .eh_frame */
static size_t segment_size, header_offset;

static int find_segment(struct dl_phdr_info *info, size_t size, void *unused)
{
	const ElfW(Phdr) *header = NULL;

	(void)size;
	(void)unused;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			header = &info->dlpi_phdr[i];
	}
	for (unsigned i = 0; header && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type == PT_LOAD && header->p_vaddr - phdr->p_vaddr < phdr->p_filesz) {
			segment = (const uint8_t *)(info->dlpi_addr + phdr->p_vaddr);
			segment_size = phdr->p_filesz;
			header_offset = header->p_vaddr - phdr->p_vaddr;
		}
	}
	return 1;
}

/* Memory with a page that cannot be read before and after it. */
static uint8_t *arena;
static size_t arena_size;

static int set_up_damage(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	dl_iterate_phdr(find_segment, NULL);
	arena_size = (segment_size + page - 1) / page * page;
	arena = mmap(NULL, arena_size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!segment || arena == MAP_FAILED)
		return -1;
	arena += page;
	return mprotect(arena, arena_size, PROT_READ | PROT_WRITE);
}

/* Not memcpy: under AddressSanitizer there is poisoned ground between the program's constants. */
__attribute__((no_sanitize("address"))) static void copy_bytes(uint8_t *to, const volatile uint8_t *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = from[i];
}

/* Copies the first `size` bytes of the segment to the very end of the arena, or its start. */
static struct rh_object copy(size_t size, bool at_end)
{
	uint8_t *to = at_end ? arena + arena_size - size : arena;

	memset(arena, 0, arena_size);
	copy_bytes(to, segment, size);
	return (struct rh_object){to, to + size, to + header_offset};
}

static unsigned functions(void)
{
	uint32_t number;

	memcpy(&number, segment + header_offset + 8, 4);
	return number;
}

/* A pc of the i-th function, relative to the header. */
static int32_t pc_of(unsigned i)
{
	int32_t pc;

	memcpy(&pc, segment + header_offset + 12 + 8 * i, 4);
	return pc;
}

/* Looks up a few places in many functions. Returns how many were found. */
static unsigned look_up(const struct rh_object *object, unsigned stride)
{
	unsigned found = 0;

	for (unsigned i = 0; i < functions(); i += stride) {
		for (unsigned offset = 0; offset < 40; offset += 13) {
			uintptr_t pc = (uintptr_t)object->header + (uintptr_t)(intptr_t)pc_of(i) + offset;
			struct rh_cfi cfi;

			if (rh_cfi_find(object, pc, &cfi) == RH_CFI_FOUND) {
				found++;
				rh_row_from(&cfi, object->end, pc);
			}
		}
	}
	return found;
}

static void a_whole_copy_reads_as_the_original(void **state)
{
	struct rh_object original = {segment, segment + segment_size, segment + header_offset};

	(void)state;
	assert_true(functions() > 20);
	for (unsigned at_end = 0; at_end < 2; at_end++) {
		struct rh_object object = copy(segment_size, at_end);

		for (unsigned i = 0; i < functions(); i++) {
			for (unsigned offset = 0; offset < 40; offset++) {
				uintptr_t relative = (uintptr_t)(intptr_t)pc_of(i) + offset;
				uintptr_t here = (uintptr_t)object.header + relative, there = (uintptr_t)original.header + relative;
				struct rh_cfi cfi, expected;
				enum rh_cfi_result result = rh_cfi_find(&original, there, &expected);

				assert_int_equal(rh_cfi_find(&object, here, &cfi), result);
				assert_true(offset > 0 || result == RH_CFI_FOUND);
				if (result == RH_CFI_FOUND) {
					struct rh_row a = rh_row_from(&cfi, object.end, there);
					struct rh_row b = rh_row_from(&expected, original.end, there);

					assert_memory_equal(&a, &b, sizeof(a));
				}
			}
		}
	}
}

static void a_truncated_object_is_never_read_past_its_end(void **state)
{
	size_t tail = segment_size - header_offset;

	(void)state;
	for (size_t cut = 0; cut <= tail; cut += cut < 64 ? 1 : 61) {
		struct rh_object object = copy(segment_size - cut, true);

		look_up(&object, 7);
	}
	for (size_t size = 0; size < 64 && size < tail; size++) {
		struct rh_object object = copy(header_offset + size, true);

		assert_int_equal(look_up(&object, 7), 0);
	}
}

static void random_bytes_never_lead_outside(void **state)
{
	unsigned seed = 20, whole, damaged = 0;
	struct rh_object object = copy(segment_size, true);

	(void)state;
	whole = look_up(&object, 7);
	for (unsigned round = 0; round < 3000; round++) {
		uint8_t *bytes;
		unsigned changes = 1u << rand_r(&seed) % 10;

		object = copy(segment_size, round % 2);
		bytes = (uint8_t *)object.start;
		for (unsigned i = 0; i < changes; i++) {
			size_t span = round % 3 ? segment_size - header_offset : 64;
			size_t at = header_offset + (size_t)rand_r(&seed) % span;

			bytes[at] = (uint8_t)rand_r(&seed);
		}
		damaged += look_up(&object, 7) != whole;
	}
	assert_true(damaged > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_prologue_changes_the_row_instruction_by_instruction),
		cmocka_unit_test(a_remembered_state_comes_back_with_its_cfa),
		cmocka_unit_test(long_and_signed_forms_mean_the_same),
		cmocka_unit_test(the_plts_expression_is_a_row_that_depends_on_the_pc),
		cmocka_unit_test(a_realigned_frame_is_a_row),
		cmocka_unit_test(an_undefined_return_address_is_the_end),
		cmocka_unit_test(what_a_row_cannot_express_is_hard),
		cmocka_unit_test(the_kernels_signal_frame_is_a_row),
		cmocka_unit_test(augmentations_of_cplusplus_are_skipped),
		cmocka_unit_test(a_pc_outside_of_all_functions_has_nothing),
		cmocka_unit_test(without_a_search_table_all_functions_are_tried),
		cmocka_unit_test(what_makes_no_sense_is_unsupported),
		cmocka_unit_test_setup(a_whole_copy_reads_as_the_original, set_up_damage),
		cmocka_unit_test(a_truncated_object_is_never_read_past_its_end),
		cmocka_unit_test(random_bytes_never_lead_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
