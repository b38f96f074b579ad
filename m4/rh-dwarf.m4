# SPDX-License-Identifier: MIT
#
# libdwarf, in both generations of its interface:
#   to 20210528    <libdwarf/libdwarf.h>, mostly without a .pc file; dwarf_init_path takes 12 arguments, dwarf_finish 2
#   0.x, 2.x       <libdwarf.h>, at times below libdwarf-0/ or libdwarf-2/, pkg-config libdwarf; 8 arguments and 1

# RH_LIB_DWARF: sets DWARF_CFLAGS and DWARF_LIBS so that <libdwarf.h> and <dwarf.h> are libdwarf's, and defines HAVE_LIBDWARF_NEW for
# the newer generation.
AC_DEFUN([RH_LIB_DWARF], [
	rh_dwarf_generation=none
	PKG_CHECK_MODULES([DWARF], [libdwarf],
		[_RH_DWARF_TRY([$DWARF_CFLAGS], [$DWARF_LIBS])],
		[DWARF_CFLAGS= DWARF_LIBS=-ldwarf])
	for rh_dir in . libdwarf libdwarf-0 libdwarf-2; do
		AS_IF([test "$rh_dwarf_generation" = none], [
			_RH_DWARF_DIRECTORY([$rh_dir])
			AS_IF([test -n "$rh_dwarf_path"], [_RH_DWARF_TRY([-I$rh_dwarf_path], [$DWARF_LIBS])])
		])
	done

	AC_MSG_CHECKING([for libdwarf])
	AC_MSG_RESULT([$rh_dwarf_generation])
	AS_CASE([$rh_dwarf_generation],
		[none], [RH_MISSING([libdwarf], [libdwarf-dev], [libdwarf-devel])],
		[new], [AC_DEFINE([HAVE_LIBDWARF_NEW], [1], [Define to 1 if dwarf_init_path takes 8 arguments and dwarf_finish 1.])])
])

# _RH_DWARF_DIRECTORY(DIRECTORY): rh_dwarf_path = where the compiler finds DIRECTORY/libdwarf.h, or empty. elfutils has a <dwarf.h> of its
# own: hence the path, to put before it.
AC_DEFUN([_RH_DWARF_DIRECTORY], [
	AC_REQUIRE([AC_PROG_CPP])
	AS_ECHO(["@%:@include <$1/libdwarf.h>"]) >conftest.c
	rh_dwarf_path=`$CPP $CPPFLAGS conftest.c 2>/dev/null | $SED -n 's,^[[^"]]*"\(.*\)/libdwarf\.h".*,\1,p' | $SED 1q`
	rm -f conftest.c
])

# _RH_DWARF_TRY(CFLAGS, LIBS): if a program can be linked with them, keeps them and sets rh_dwarf_generation.
AC_DEFUN([_RH_DWARF_TRY], [
	rh_saved_CPPFLAGS=$CPPFLAGS
	rh_saved_LIBS=$LIBS
	CPPFLAGS="$1 $CPPFLAGS"
	LIBS="$2 $LIBS"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <libdwarf.h>]], [[
			Dwarf_Debug d;
			Dwarf_Error e;
			(void)dwarf_init_path("", (char *)0, 0, DW_GROUPNUMBER_ANY, (Dwarf_Handler)0, (Dwarf_Ptr)0, &d, &e);
			(void)dwarf_finish(d);]])],
		[rh_dwarf_generation=new],
		[AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <libdwarf.h>]], [[
				Dwarf_Debug d;
				Dwarf_Error e;
				(void)dwarf_init_path("", (char *)0, 0, DW_DLC_READ, DW_GROUPNUMBER_ANY, (Dwarf_Handler)0,
						      (Dwarf_Ptr)0, &d, (const char *)0, 0, (Dwarf_Unsigned *)0, &e);
				(void)dwarf_finish(d, &e);]])],
			[rh_dwarf_generation=old])])
	CPPFLAGS=$rh_saved_CPPFLAGS
	LIBS=$rh_saved_LIBS
	AS_IF([test "$rh_dwarf_generation" != none], [
		DWARF_CFLAGS="$1"
		DWARF_LIBS="$2"
	])
])
