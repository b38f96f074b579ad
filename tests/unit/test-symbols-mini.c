/* SPDX-License-Identifier: MIT
 *
 * MiniDebugInfo: symbols that a stripped file carries, compressed, in .gnu_debugdata.
 */
#include "config.h"

#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static void need_xz(void)
{
#ifndef HAVE_LZMA
	print_message("skipped: built without liblzma\n");
	skip();
#endif
	if (!have("xz"))
		print_message("skipped: xz is not installed\n");
	need("xz");
}

/* full.so and the stripped library.so, which carries in .gnu_debugdata the functions that are not exported. */
static void build(void)
{
	must("${CC:-cc} -g0 -O2 -fPIC -shared -DWITHOUT_PLACES -o full.so \"$S/chain.c\" && "
	     "nm -D full.so --format=posix --defined-only | awk '{ print $1 }' | sort >exported && "
	     "nm full.so --format=posix --defined-only | awk '$2 ~ /[tT]/ { print $1 }' | sort >functions && "
	     "comm -13 exported functions >keep && grep -q '^hidden$' keep && "
	     "objcopy --only-keep-debug full.so debug && objcopy -S --remove-section .comment --keep-symbols=keep debug mini && "
	     "rm -f mini.xz && xz mini && strip -o library.so full.so && objcopy --add-section .gnu_debugdata=mini.xz library.so");
}

static void functions_that_were_stripped_have_names_again(void **state)
{
	struct answer answer;

	(void)state;
	need_xz();
	build();
	ask(&answer, "library.so", address_of("full.so", "hidden"));
	assert_int_equal(answer.count, 1);
	expect_frame(&answer, 0, "hidden", NULL, 0);
	expect_status(&answer, "minidebug");
	assert_string_equal(symbols_debug_file(answer.module), in_directory("library.so"));
	symbols_free(answer.symbols);
}

static void exported_functions_keep_theirs(void **state)
{
	struct answer answer;

	(void)state;
	need_xz();
	build();
	must("! grep -q '^outer$' keep");
	ask(&answer, "library.so", address_of("full.so", "outer"));
	expect_frame(&answer, 0, "outer", NULL, 0);
	symbols_free(answer.symbols);
}

static void a_debug_file_is_preferred(void **state)
{
	struct answer answer;

	(void)state;
	need_xz();
	build();
	must("${CC:-cc} -g -O2 -fPIC -shared -DWITHOUT_PLACES -Wl,--build-id=0x1234 -o whole.so \"$S/chain.c\" && "
	     "strip -o linked.so whole.so && objcopy --only-keep-debug whole.so linked.debug && "
	     "objcopy --add-gnu-debuglink=linked.debug --add-section .gnu_debugdata=mini.xz linked.so");
	ask(&answer, "linked.so", address_of("whole.so", "hidden"));
	expect_status(&answer, "dwarf");
	symbols_free(answer.symbols);
}

/* Whatever is in the section, the exported names remain. */
static void expect_exported_only(const char *section)
{
	struct answer answer;

	must("strip -o library.so full.so && objcopy --add-section .gnu_debugdata=%s library.so", section);
	ask(&answer, "library.so", address_of("full.so", "outer"));
	expect_frame(&answer, 0, "outer", NULL, 0);
	expect_status(&answer, "dynsym");
	symbols_free(answer.symbols);
}

static void damaged_ones_cost_only_the_names_in_them(void **state)
{
	(void)state;
	need_xz();
	build();
	must("xz -d <mini.xz >mini && head -c 200 mini.xz >cut && tr '\\100-\\120' '\\0' <mini.xz >wrong && "
	     "head -c 5000 /dev/zero | xz >zeros && head -c 900 mini | xz >short && printf x >one");
	expect_exported_only("cut");
	expect_exported_only("wrong");
	expect_exported_only("zeros");
	expect_exported_only("short");
	expect_exported_only("one");
	expect_exported_only("mini"); /* not compressed */
}

/* 300 MB of zeros fit in 44 KB. */
static void one_that_grows_without_bound_is_refused(void **state)
{
	(void)state;
	need_xz();
	build();
	must("head -c 300000000 /dev/zero | xz -0 >bomb");
	expect_exported_only("bomb");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_that_were_stripped_have_names_again),
		cmocka_unit_test(exported_functions_keep_theirs),
		cmocka_unit_test(a_debug_file_is_preferred),
		cmocka_unit_test(damaged_ones_cost_only_the_names_in_them),
		cmocka_unit_test(one_that_grows_without_bound_is_refused),
	};

	return cmocka_run_group_tests_name("symbols: MiniDebugInfo", tests, symbols_fixture_make, symbols_fixture_remove);
}
