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

# RH_REPORT_MISSING: ends configure if anything was missing.
AC_DEFUN([RH_REPORT_MISSING], [
	AS_IF([test -n "$rh_missing"], [AC_MSG_ERROR([needed to build Rheaper:$rh_missing])])
])
