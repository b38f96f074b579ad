/* SPDX-License-Identifier: MIT
 *
 * Functions, inline chains and lines from the DWARF of different makers, versions and packings.
 */
#include "config.h"

#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- DWARF of different makers ---- */

static const struct build {
	const char *name, *compiler, *flags;
} builds[] = {
	{"an inline chain: gcc, DWARF 4, -O0", "gcc", "-gdwarf-4 -O0"},
	{"an inline chain: gcc, DWARF 4, -O2", "gcc", "-gdwarf-4 -O2"},
	{"an inline chain: gcc, DWARF 5, -O0", "gcc", "-gdwarf-5 -O0"},
	{"an inline chain: gcc, DWARF 5, -O2", "gcc", "-gdwarf-5 -O2"},
	{"an inline chain: clang, DWARF 4, -O0", "clang", "-gdwarf-4 -O0"},
	{"an inline chain: clang, DWARF 4, -O2", "clang", "-gdwarf-4 -O2"},
	{"an inline chain: clang, DWARF 5, -O0", "clang", "-gdwarf-5 -O0"},
	{"an inline chain: clang, DWARF 5, -O2", "clang", "-gdwarf-5 -O2"},
	{"an inline chain: gcc, DWARF 3", "gcc", "-gdwarf-3 -gstrict-dwarf -O2"},
	{"an inline chain: 64-bit DWARF", "gcc", "-gdwarf-5 -gdwarf64 -O2"},
	{"an inline chain: sections compressed with zlib", "gcc", "-g -O2 -gz=zlib"},
	{"an inline chain: sections compressed the old GNU way", "gcc", "-g -O2 -gz=zlib-gnu"},
	{"an inline chain: no PIE", "gcc", "-g -O2 -no-pie"},
	{"an inline chain: a program that does not start at 0 or a round address", "gcc", "-g -O2 -no-pie -Wl,-Ttext-segment=0x12345000"},
	{"an inline chain: link-time optimization", "gcc", "-g -O2 -flto"},
	{"an inline chain: dead functions thrown away by the linker", "gcc", "-g -O2 -ffunction-sections -Wl,--gc-sections"},
	{"an inline chain: split DWARF 4 of gcc", "gcc", "-gdwarf-4 -O2 -gsplit-dwarf"},
	{"an inline chain: split DWARF 4 of clang", "clang", "-gdwarf-4 -O2 -gsplit-dwarf"},
	{"an inline chain: split DWARF 5 of gcc", "gcc", "-gdwarf-5 -O2 -gsplit-dwarf"},
	{"an inline chain: split DWARF 5 of clang", "clang", "-gdwarf-5 -O2 -gsplit-dwarf"},
};

static void inline_chain(void **state)
{
	const struct build *build = *state;

	need(build->compiler);
	must("rm -f *.dwo; %s %s -o chain \"$S/chain.c\"", build->compiler, build->flags);
	ask_chain("chain", address_of("chain", "in_inner"));
}

/* With a section a function, each line program sequence starts anew with file 1: for the first function of a sequence nobody says so. */
static void the_first_file_of_a_sequence_is_right(void **state)
{
	const struct build *build = *state;
	struct answer answer;

	need(build->compiler);
	must("%s %s -ffunction-sections -o chain \"$S/chain.c\"", build->compiler, build->flags);
	ask(&answer, "chain", address_of("chain", "in_header"));
	expect_frame(&answer, 0, "from_header", "chain.h", line_of("chain.h", "PLACE(in_header)"));
	symbols_free(answer.symbols);
	ask(&answer, "chain", address_of("chain", "in_outer"));
	expect_frame(&answer, 0, "outer", "chain.c", line_of("chain.c", "PLACE(in_outer)"));
	symbols_free(answer.symbols);
}

static const struct build sequences[] = {
	{"the first file of a line sequence: gcc, DWARF 5", "gcc", "-gdwarf-5 -O2"},
	{"the first file of a line sequence: clang, DWARF 5", "clang", "-gdwarf-5 -O2"},
	{"the first file of a line sequence: clang, DWARF 4", "clang", "-gdwarf-4 -O2"},
};

static void relative_names_become_absolute(void **state)
{
	(void)state;
	must("W=$PWD; cd \"$S\" && ${CC:-cc} -g -O2 -I. -o \"$W/chain\" ./chain.c");
	ask_chain("chain", address_of("chain", "in_inner"));
}

static void a_cold_part_has_its_functions_name(void **state)
{
	struct answer answer;

	(void)state;
	need("gcc");
	must("gcc -g -O2 -o cold \"$S/cold.c\"");
	must("nm cold | grep -q 'work\\.cold$'");
	ask(&answer, "cold", address_of("cold", "in_cold"));
	assert_int_equal(answer.count, 1);
	expect_frame(&answer, 0, "work", "cold.c", line_of("cold.c", "PLACE(in_cold)"));
	symbols_free(answer.symbols);
}

static void shared_debug_information_of_dwz_is_followed(void **state)
{
	(void)state;
	need("dwz");
	must("for n in one two; do gcc -g -O2 -o $n \"$S/chain.c\"; done; dwz --multifile shared --multifile-name \"$PWD/shared\" one two");
	must("readelf -SW one | grep -q gnu_debugaltlink");
	ask_chain("one", address_of("one", "in_inner"));
}

/* ---- C++ ---- */

static void expect_function(const char *place, const char *function)
{
	struct answer answer;
	char text[64];

	snprintf(text, sizeof text, "PLACE(%s)", place);
	ask(&answer, "names", address_of("names", place));
	expect_frame(&answer, 0, function, "names.cc", line_of("names.cc", text));
	symbols_free(answer.symbols);
}

static void cxx_names_are_demangled_with_their_scope(void **state)
{
	(void)state;
	must("${CXX:-c++} -g -O1 -o names \"$S/names.cc\"");
	expect_function("in_template", "app::Box<long, 4>::put(long)");
	expect_function("in_anonymous", "app::(anonymous namespace)::unseen(int)");
	expect_function("in_lambda", "app::with_lambda(int)::{lambda(int)#1}::operator()(int) const");
}

static void the_linkage_name_is_kept_beside_the_readable_one(void **state)
{
	struct answer answer;

	(void)state;
	must("${CXX:-c++} -g -O1 -o names \"$S/names.cc\"");
	ask(&answer, "names", address_of("names", "in_template"));
	assert_string_equal(answer.frames[0].linkage, "_ZN3app3BoxIlLi4EE3putEl");
	symbols_free(answer.symbols);
}

static void names_stay_mangled_on_request(void **state)
{
	const struct symbols_options options = {.no_demangle = true};
	struct answer answer;

	(void)state;
	must("${CXX:-c++} -g -O1 -o names \"$S/names.cc\"");
	ask_with(&answer, &options, in_directory("names"), address_of("names", "in_template"));
	assert_string_equal(answer.frames[0].function, "_ZN3app3BoxIlLi4EE3putEl");
	assert_null(answer.frames[0].linkage);
	symbols_free(answer.symbols);
}

int main(void)
{
	static const struct CMUnitTest fixed[] = {
		cmocka_unit_test(relative_names_become_absolute),
		cmocka_unit_test(a_cold_part_has_its_functions_name),
		cmocka_unit_test(shared_debug_information_of_dwz_is_followed),
		cmocka_unit_test(cxx_names_are_demangled_with_their_scope),
		cmocka_unit_test(the_linkage_name_is_kept_beside_the_readable_one),
		cmocka_unit_test(names_stay_mangled_on_request),
	};
	struct CMUnitTest tests[COUNT(builds) + COUNT(sequences) + COUNT(fixed)];
	size_t count = 0;

	for (size_t i = 0; i < COUNT(builds); i++)
		tests[count++] = (struct CMUnitTest){builds[i].name, inline_chain, NULL, NULL, (void *)&builds[i]};
	for (size_t i = 0; i < COUNT(sequences); i++)
		tests[count++] = (struct CMUnitTest){sequences[i].name, the_first_file_of_a_sequence_is_right, NULL, NULL, (void *)&sequences[i]};
	memcpy(tests + count, fixed, sizeof fixed);
	return cmocka_run_group_tests_name("symbols: DWARF", tests, symbols_fixture_make, symbols_fixture_remove);
}
