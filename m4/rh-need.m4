# SPDX-License-Identifier: MIT
#
# Libraries that must be there. What is not is remembered, so that one run of configure names every package to install.

# RH_MISSING(WHAT, DEBIAN-PACKAGE, FEDORA-PACKAGE): remembers that WHAT was not found.
AC_DEFUN([RH_MISSING], [
	rh_missing="$rh_missing
  $1 not found: install $2 (Debian) or $3 (Fedora)"
])

# RH_NEED_MODULE(VARIABLE, PKG-CONFIG-SPEC, WHAT, DEBIAN-PACKAGE, FEDORA-PACKAGE): sets VARIABLE_CFLAGS and VARIABLE_LIBS.
AC_DEFUN([RH_NEED_MODULE], [
	PKG_CHECK_MODULES([$1], [$2], [], [RH_MISSING([$3], [$4], [$5])])
])

# RH_WANT_MODULE(VARIABLE, PKG-CONFIG-SPEC, NAME, WHAT): what is used if it is there: sets VARIABLE_CFLAGS and VARIABLE_LIBS and defines
# HAVE_VARIABLE; with_NAME says what came of it. --with-NAME makes it a must, --without-NAME leaves it out, and so what it is for: WHAT.
AC_DEFUN([RH_WANT_MODULE], [
	AC_ARG_WITH([$3],
		[AS_HELP_STRING([--without-$3], [do without $2: $4 is not read])],
		[], [with_$3=if-there])
	rh_$3=no
	AS_IF([test "$with_$3" != no], [PKG_CHECK_MODULES([$1], [$2], [rh_$3=yes], [:])])
	AS_CASE([$with_$3,$rh_$3],
		[yes,no], [AC_MSG_ERROR([--with-$3: $2 not found])],
		[if-there,no], [with_$3="not found: $4 will not be read"],
		[no,*], [with_$3="left out: $4 will not be read"],
		[with_$3=yes
		AC_DEFINE([HAVE_$1], [1], [Define to 1 if $2 can be used.])])
	AC_SUBST([$1_CFLAGS])
	AC_SUBST([$1_LIBS])
])

# RH_REPORT_MISSING: ends configure if anything was missing.
AC_DEFUN([RH_REPORT_MISSING], [
	AS_IF([test -n "$rh_missing"], [AC_MSG_ERROR([needed to build Rheaper:$rh_missing])])
])
