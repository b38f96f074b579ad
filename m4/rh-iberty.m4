# SPDX-License-Identifier: MIT
#
# libiberty, for its demangler. It has no .pc file; the header lies in libiberty/ on Debian, at the top on Fedora.

# RH_LIB_IBERTY: sets IBERTY_LIBS and defines HAVE_LIBIBERTY_DEMANGLE_H if the header is <libiberty/demangle.h>.
AC_DEFUN([RH_LIB_IBERTY], [
	rh_iberty=no
	IBERTY_LIBS=-liberty
	AC_CHECK_HEADERS([libiberty/demangle.h demangle.h], [rh_iberty=yes; break])
	AS_IF([test $rh_iberty = yes], [AC_CHECK_LIB([iberty], [cplus_demangle], [:], [rh_iberty=no])])
	AS_IF([test $rh_iberty = no], [RH_MISSING([libiberty], [libiberty-dev], [binutils-devel])])
	AC_SUBST([IBERTY_LIBS])
])
