# SPDX-License-Identifier: MIT
#
# Where Rheaper runs: the unwinder knows the x86_64 psABI, the capture front-ends know the GNU C library.

# RH_SUPPORTED_MACHINE: ends configure elsewhere.
AC_DEFUN([RH_SUPPORTED_MACHINE], [
	AC_REQUIRE([AC_CANONICAL_HOST])
	AS_CASE([$host],
		[x86_64-*-linux-gnu*], [],
		[x86_64-*-linux-musl*], [AC_MSG_ERROR([musl is not supported: Rheaper needs the GNU C library])],
		[*-*-linux*], [AC_MSG_ERROR([$host is not supported: Rheaper runs on x86_64 Linux with the GNU C library])],
		[AC_MSG_ERROR([$host is not supported: Rheaper runs on Linux])])

	AC_CACHE_CHECK([for the GNU C library], [rh_cv_glibc], [
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
			#include <stdlib.h>
			#ifndef __GLIBC__
			#error not the GNU C library
			#endif
			]])], [rh_cv_glibc=yes], [rh_cv_glibc=no])
	])
	AS_IF([test $rh_cv_glibc = no], [AC_MSG_ERROR([this C library is not supported: Rheaper needs the GNU C library])])

	AC_CACHE_CHECK([for 64-bit pointers], [rh_cv_lp64], [
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[_Static_assert(sizeof(void *) == 8 && sizeof(long) == 8, "LP64");]])],
			[rh_cv_lp64=yes], [rh_cv_lp64=no])
	])
	AS_IF([test $rh_cv_lp64 = no], [AC_MSG_ERROR([only the 64-bit ABI is supported, not -m32 or -mx32])])
])
