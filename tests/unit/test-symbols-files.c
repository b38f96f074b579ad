/* SPDX-License-Identifier: MIT
 *
 * Which file is believed: symbol tables, separate debug files, other builds, files that are gone or damaged.
 */
#include "config.h"

#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Symbol tables ---- */

static void without_dwarf_the_symbol_table_names_functions(void **state)
{
	struct answer answer;

	(void)state;
	must("${CC:-cc} -g0 -O2 -o plain \"$S/chain.c\"");
	ask(&answer, "plain", address_of("plain", "in_hidden"));
	assert_int_equal(answer.count, 1);
	expect_frame(&answer, 0, "hidden", NULL, 0);
	expect_status(&answer, "symtab");
	symbols_free(answer.symbols);
}

static void a_stripped_library_has_its_exported_names_and_no_others(void **state)
{
	struct answer answer;

	(void)state;
	must("${CC:-cc} -g0 -O2 -fPIC -shared -DWITHOUT_PLACES -o full.so \"$S/chain.c\" && strip -o library.so full.so");
	uint64_t outer = address_of("full.so", "outer"), hidden = address_of("full.so", "hidden");

	ask(&answer, "library.so", outer);
	expect_frame(&answer, 0, "outer", NULL, 0);
	expect_status(&answer, "dynsym");
	symbols_free(answer.symbols);
	ask(&answer, "library.so", hidden);
	expect_unknown(&answer);
	symbols_free(answer.symbols);
}

static void a_stripped_program_says_so(void **state)
{
	struct answer answer;

	(void)state;
	must("${CC:-cc} -g0 -O2 -o plain \"$S/chain.c\" && strip -o bare plain");
	ask(&answer, "bare", address_of("plain", "outer"));
	expect_unknown(&answer);
	expect_status(&answer, "stripped");
	assert_null(symbols_debug_file(answer.module));
	symbols_free(answer.symbols);
}

static void expect_neighbour(const char *place, unsigned offset, const char *function)
{
	struct answer answer;

	ask(&answer, "neighbours.so", address_of("neighbours.so", place) + offset);
	if (function)
		expect_frame(&answer, 0, function, NULL, 0);
	else
		expect_unknown(&answer);
	symbols_free(answer.symbols);
}

static void a_symbol_ends_where_its_size_says(void **state)
{
	(void)state;
	must("${CC:-cc} -shared -o neighbours.so \"$S/neighbours.S\"");
	expect_neighbour("sized", 15, "sized");
	expect_neighbour("sized", 16, NULL); /* the hole */
	expect_neighbour("sized", 31, NULL);
	expect_neighbour("after", 0, "after");
}

static void of_aliases_the_global_plain_one_is_taken(void **state)
{
	(void)state;
	must("${CC:-cc} -shared -o neighbours.so \"$S/neighbours.S\"");
	expect_neighbour("__sized_alias", 4, "sized");
}

static void a_label_without_a_size_names_what_follows(void **state)
{
	(void)state;
	must("${CC:-cc} -shared -o neighbours.so \"$S/neighbours.S\"");
	expect_neighbour("unsized", 4, "unsized");
}

static void assembly_has_the_symbols_name_and_dwarfs_line(void **state)
{
	struct answer answer;

	(void)state;
	must("${CC:-cc} -g -shared -o neighbours.so \"$S/neighbours.S\"");
	ask(&answer, "neighbours.so", address_of("neighbours.so", "after"));
	expect_frame(&answer, 0, "after", "neighbours.S", line_of("neighbours.S", "after's first"));
	symbols_free(answer.symbols);
}

/* ---- Separate debug files ---- */

static void build_separate(void)
{
	must("rm -rf bin root && mkdir -p bin/.debug root && ${CC:-cc} -g -O2 -Wl,--build-id=none -o whole \"$S/chain.c\" && "
	     "objcopy --only-keep-debug whole part.debug && strip -o bin/part whole && objcopy --add-gnu-debuglink=part.debug bin/part");
}

static void ask_part(struct answer *answer, const char *debug_path)
{
	const char *const roots[] = {debug_path, NULL};
	const struct symbols_options options = {.debug_path = debug_path ? roots : NULL};

	ask_with(answer, &options, in_directory("bin/part"), address_of("whole", "in_inner"));
}

static void expect_part(const char *place, const char *debug_path)
{
	struct answer answer;

	build_separate();
	must("mkdir -p \"$(dirname %s)\" && mv part.debug %s", place, place);
	ask_part(&answer, debug_path);
	expect_chain(&answer);
	assert_string_equal(symbols_debug_file(answer.module), in_directory(place));
	symbols_free(answer.symbols);
}

static void a_debug_link_is_followed_beside_the_file(void **state)
{
	(void)state;
	expect_part("bin/part.debug", NULL);
}

static void a_debug_link_is_followed_into_dot_debug(void **state)
{
	(void)state;
	expect_part("bin/.debug/part.debug", NULL);
}

static void a_debug_link_is_followed_below_the_debug_path(void **state)
{
	char place[PATH_MAX + 64], root[PATH_MAX + 64];

	(void)state;
	snprintf(root, sizeof root, "%s", in_directory("root"));
	snprintf(place, sizeof place, "root%s/bin/part.debug", directory);
	expect_part(place, root);
}

static void a_debug_file_with_another_checksum_is_refused(void **state)
{
	struct answer answer;

	(void)state;
	build_separate();
	must("printf x >>part.debug && mv part.debug bin");
	ask_part(&answer, NULL);
	expect_unknown(&answer);
	expect_status(&answer, "stripped");
	symbols_free(answer.symbols);
}

/* bin/part stripped, its debug file in root's .build-id tree. */
static size_t build_by_id(unsigned char *id, size_t size)
{
	must("rm -rf bin root && mkdir -p bin && ${CC:-cc} -g -O2 -Wl,--build-id -o whole \"$S/chain.c\" && strip -o bin/part whole");
	size_t length = read_build_id("whole", id, size);
	char hex[2 * 64 + 1];

	for (size_t i = 0; i < length; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	must("mkdir -p root/.build-id/%.2s && objcopy --only-keep-debug whole root/.build-id/%.2s/%s.debug", hex, hex, hex + 2);
	return length;
}

static void a_debug_file_is_found_by_build_id(void **state)
{
	unsigned char id[64];
	char root[PATH_MAX + 64];
	struct answer answer;

	(void)state;
	build_by_id(id, sizeof id);
	snprintf(root, sizeof root, "%s", in_directory("root"));
	ask_part(&answer, root);
	expect_chain(&answer);
	expect_status(&answer, "dwarf");
	symbols_free(answer.symbols);
}

static void a_replaced_program_is_a_mismatch_and_has_no_names(void **state)
{
	static const unsigned char other[20] = {1, 2, 3};
	struct symbols *symbols = symbols_new(NULL);
	struct answer answer;

	(void)state;
	must("${CC:-cc} -g -O2 -Wl,--build-id -o whole \"$S/chain.c\"");
	answer.symbols = symbols;
	answer.module = symbols_module(symbols, in_directory("whole"), other, sizeof other);
	answer.count = symbols_lookup(answer.module, address_of("whole", "in_inner"), answer.frames, MAX_FRAMES);
	expect_unknown(&answer);
	expect_status(&answer, "mismatch");
	symbols_free(symbols);
}

static void a_deleted_programs_debug_file_still_serves(void **state)
{
	unsigned char id[64];
	char root[PATH_MAX + 64];
	struct answer answer;

	(void)state;
	size_t size = build_by_id(id, sizeof id);

	must("rm bin/part");
	snprintf(root, sizeof root, "%s", in_directory("root"));
	const char *const roots[] = {root, NULL};

	answer.symbols = symbols_new(&(struct symbols_options){.debug_path = roots});
	answer.module = symbols_module(answer.symbols, in_directory("bin/part"), id, size);
	answer.count = symbols_lookup(answer.module, address_of("whole", "in_inner"), answer.frames, MAX_FRAMES);
	expect_chain(&answer);
	symbols_free(answer.symbols);
}

static void paths_are_looked_up_below_the_sysroot(void **state)
{
	struct symbols_options options = {0};
	struct answer answer;
	char root[PATH_MAX + 64];

	(void)state;
	must("mkdir -p root/opt && ${CC:-cc} -g -O2 -o root/opt/chain \"$S/chain.c\"");
	snprintf(root, sizeof root, "%s", in_directory("root"));
	options.sysroot = root;
	ask_with(&answer, &options, "/opt/chain", address_of("root/opt/chain", "in_inner"));
	expect_chain(&answer);
	symbols_free(answer.symbols);
}

/* ---- What is not there ---- */

static void an_address_of_no_function_is_one_unknown_frame(void **state)
{
	struct answer answer;

	(void)state;
	must("${CC:-cc} -g -O2 -o chain \"$S/chain.c\"");
	ask(&answer, "chain", 0x7fffffff0000);
	expect_unknown(&answer);
	symbols_free(answer.symbols);
	ask(&answer, "chain", 0);
	expect_unknown(&answer);
	symbols_free(answer.symbols);
	ask(&answer, "chain", UINT64_MAX);
	expect_unknown(&answer);
	symbols_free(answer.symbols);
}

static void expect_nothing_from(const char *path, const char *status)
{
	struct answer answer;

	ask_with(&answer, NULL, path, 0x1234);
	expect_unknown(&answer);
	expect_status(&answer, status);
	symbols_free(answer.symbols);
}

static void a_file_that_is_gone_is_missing(void **state)
{
	(void)state;
	expect_nothing_from(in_directory("no such file"), "missing");
	expect_nothing_from(directory, "missing");
}

static void a_file_that_is_no_object_is_damaged(void **state)
{
	(void)state;
	must("head -c 10000 /dev/urandom >garbage && : >empty && printf '\\177ELF\\002\\001\\001' >short");
	expect_nothing_from(in_directory("garbage"), "damaged");
	expect_nothing_from(in_directory("empty"), "damaged");
	expect_nothing_from(in_directory("short"), "damaged");
}

static void names_of_the_kernel_are_anonymous(void **state)
{
	(void)state;
	expect_nothing_from("[vdso]", "anonymous");
	expect_nothing_from("linux-vdso.so.1", "anonymous");
}

static void a_module_that_nobody_asked_about_is_unused(void **state)
{
	struct symbols *symbols = symbols_new(NULL);
	struct symbols_module *module = symbols_module(symbols, in_directory("no such file"), NULL, 0);

	(void)state;
	assert_string_equal(symbols_status(module), "unused");
	assert_null(symbols_debug_file(module));
	symbols_free(symbols);
}

static void one_path_and_build_id_are_one_module(void **state)
{
	struct symbols *symbols = symbols_new(NULL);
	struct symbols_module *module = symbols_module(symbols, "/bin/a", "id", 2);

	(void)state;
	assert_ptr_equal(symbols_module(symbols, "/bin/a", "id", 2), module);
	assert_ptr_not_equal(symbols_module(symbols, "/bin/a", "di", 2), module);
	assert_ptr_not_equal(symbols_module(symbols, "/bin/a", NULL, 0), module);
	assert_ptr_not_equal(symbols_module(symbols, "/bin/b", "id", 2), module);
	symbols_free(symbols);
}

static void no_more_frames_than_asked_for_are_written(void **state)
{
	struct symbols_frame frames[3] = {[2] = {.line = 77}};
	struct symbols *symbols = symbols_new(NULL);

	(void)state;
	must("${CC:-cc} -g -O2 -o chain \"$S/chain.c\"");
	struct symbols_module *module = symbols_module(symbols, in_directory("chain"), NULL, 0);

	assert_int_equal(symbols_lookup(module, address_of("chain", "in_inner"), frames, 2), 2);
	assert_string_equal(frames[0].function, "inner");
	assert_string_equal(frames[1].function, "middle");
	assert_int_equal(frames[2].line, 77);
	symbols_free(symbols);
}

/* ---- Hostile files ---- */

static size_t read_file(const char *name, unsigned char **bytes)
{
	FILE *file = fopen(in_directory(name), "rb");

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	size_t size = (size_t)ftell(file);

	rewind(file);
	*bytes = malloc(size);
	assert_int_equal(fread(*bytes, 1, size, file), size);
	fclose(file);
	return size;
}

static void write_file(const char *name, const unsigned char *bytes, size_t size)
{
	FILE *file = fopen(in_directory(name), "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* Whatever the answers are: that there are some is the point. */
static void interrogate(const char *program, const uint64_t *addresses, size_t count)
{
	struct symbols *symbols = symbols_new(NULL);
	struct symbols_module *module = symbols_module(symbols, in_directory(program), NULL, 0);
	struct symbols_frame frames[MAX_FRAMES];

	for (size_t i = 0; i < count; i++) {
		size_t found = symbols_lookup(module, addresses[i], frames, MAX_FRAMES);

		assert_in_range(found, 1, MAX_FRAMES);
		for (size_t frame = 0; frame < found; frame++)
			if (frames[frame].function)
				assert_true(strlen(frames[frame].function) < 100000);
	}
	symbols_free(symbols);
}

static void a_file_cut_short_anywhere_crashes_nothing(void **state)
{
	unsigned char *bytes;

	(void)state;
	must("${CC:-cc} -g -O2 -o chain \"$S/chain.c\"");
	const uint64_t addresses[] = {address_of("chain", "in_inner"), address_of("chain", "main")};
	size_t size = read_file("chain", &bytes);

	for (size_t cut = 1; cut < size; cut += size / 60 + 1) {
		write_file("cut", bytes, cut);
		interrogate("cut", addresses, 2);
	}
	free(bytes);
}

/* libdwarf 20210528 frees the headers of this section twice when one is damaged. */
static void damaged_range_lists_cost_only_the_dwarf(void **state)
{
	struct answer answer;

	(void)state;
	must("${CC:-cc} -gdwarf-5 -O2 -ffunction-sections -o chain \"$S/chain.c\" && printf '\\377\\377\\0\\0\\5\\0\\10\\0\\0\\0\\0\\0' >lists && "
	     "objcopy --update-section .debug_rnglists=lists chain");
	ask(&answer, "chain", address_of("chain", "in_outer"));
	assert_int_equal(answer.count, 1);
	expect_frame(&answer, 0, "outer", NULL, 0);
	expect_status(&answer, "damaged");
	symbols_free(answer.symbols);
}

static void damaged_bytes_crash_nothing(void **state)
{
	const char *flags = *state;
	unsigned char *bytes;
	uint32_t random = 12345;

	must("${CC:-cc} %s -O2 -o chain \"$S/chain.c\"", flags);
	const uint64_t addresses[] = {address_of("chain", "in_inner"), address_of("chain", "main"), address_of("chain", "in_header")};
	size_t size = read_file("chain", &bytes);
	unsigned char *damaged = malloc(size);

	assert_non_null(damaged);
	for (int round = 0; round < 150; round++) {
		memcpy(damaged, bytes, size);
		for (int i = 0; i < 40; i++) {
			random = random * 1664525 + 1013904223;
			damaged[(random >> 4) % size] ^= (unsigned char)(1u << (random >> 29));
		}
		write_file("damaged", damaged, size);
		interrogate("damaged", addresses, 3);
	}
	free(damaged);
	free(bytes);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_dwarf_the_symbol_table_names_functions),
		cmocka_unit_test(a_stripped_library_has_its_exported_names_and_no_others),
		cmocka_unit_test(a_stripped_program_says_so),
		cmocka_unit_test(a_symbol_ends_where_its_size_says),
		cmocka_unit_test(of_aliases_the_global_plain_one_is_taken),
		cmocka_unit_test(a_label_without_a_size_names_what_follows),
		cmocka_unit_test(assembly_has_the_symbols_name_and_dwarfs_line),
		cmocka_unit_test(a_debug_link_is_followed_beside_the_file),
		cmocka_unit_test(a_debug_link_is_followed_into_dot_debug),
		cmocka_unit_test(a_debug_link_is_followed_below_the_debug_path),
		cmocka_unit_test(a_debug_file_with_another_checksum_is_refused),
		cmocka_unit_test(a_debug_file_is_found_by_build_id),
		cmocka_unit_test(a_replaced_program_is_a_mismatch_and_has_no_names),
		cmocka_unit_test(a_deleted_programs_debug_file_still_serves),
		cmocka_unit_test(paths_are_looked_up_below_the_sysroot),
		cmocka_unit_test(an_address_of_no_function_is_one_unknown_frame),
		cmocka_unit_test(a_file_that_is_gone_is_missing),
		cmocka_unit_test(a_file_that_is_no_object_is_damaged),
		cmocka_unit_test(names_of_the_kernel_are_anonymous),
		cmocka_unit_test(a_module_that_nobody_asked_about_is_unused),
		cmocka_unit_test(one_path_and_build_id_are_one_module),
		cmocka_unit_test(no_more_frames_than_asked_for_are_written),
		cmocka_unit_test(a_file_cut_short_anywhere_crashes_nothing),
		cmocka_unit_test(damaged_range_lists_cost_only_the_dwarf),
		cmocka_unit_test_prestate(damaged_bytes_crash_nothing, (void *)"-gdwarf-4"),
		cmocka_unit_test_prestate(damaged_bytes_crash_nothing, (void *)"-gdwarf-5"),
	};

	return cmocka_run_group_tests_name("symbols: files", tests, symbols_fixture_make, symbols_fixture_remove);
}
