# SPDX-License-Identifier: MIT
#
# Flags that follow from how Rheaper is linked into a program.

# RH_WITHOUT_LTO: takes -flto out of CFLAGS and CXXFLAGS. The user's flags come last on the command line, so the library's own -fno-lto could not
# undo it; and an archive of LTO objects loses its __wrap symbols, which the linker needs before it asks the LTO plug-in.
AC_DEFUN([RH_WITHOUT_LTO], [
	CFLAGS=`AS_ECHO([" $CFLAGS "]) | $SED -e ['s/ -flto[^ ]* / /g;s/ -ffat-lto-objects / /g;s/^ //;s/ $//']`
	CXXFLAGS=`AS_ECHO([" $CXXFLAGS "]) | $SED -e ['s/ -flto[^ ]* / /g;s/ -ffat-lto-objects / /g;s/^ //;s/ $//']`
])

# RH_WRAP_FLAGS(FILE): WRAP_LDFLAGS = one word, -Wl,--wrap=NAME,--wrap=NAME..., for the names in FILE: one a line, # begins a comment. One word, because
# pkg-config, CMake and libtool drop repeated words and reorder others.
# Then names to be looked for in any case; one that is nowhere does no harm. __wrap_malloc takes the wrappers out of the archive, because libraries that the
# linker reads later, libc.a too, refer to them. The other two are what operator new needs to fail as it should (std::get_new_handler and
# std::__throw_bad_alloc): the shared library cannot fetch them from a libstdc++.a. BACKEND_LDFLAGS: rh-backend.m4.
AC_DEFUN([RH_WRAP_FLAGS], [
	rh_names=`$SED -e 's/@%:@.*//' -e '/^$/d' "$srcdir/$1"`
	WRAP_LDFLAGS=-Wl
	for rh_name in $rh_names; do
		WRAP_LDFLAGS="$WRAP_LDFLAGS,--wrap=$rh_name"
	done
	WRAP_LDFLAGS="$WRAP_LDFLAGS,-u,__wrap_malloc,-u,_ZSt15get_new_handlerv,-u,_ZSt17__throw_bad_allocv$BACKEND_LDFLAGS"
	AC_SUBST([WRAP_LDFLAGS])
	AC_SUBST([CONFIG_STATUS_DEPENDENCIES], ['$(top_srcdir)/$1'])
])
