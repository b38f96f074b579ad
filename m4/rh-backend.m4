# SPDX-License-Identifier: MIT
#
# The allocator underneath. Its library goes onto the command line of each relinked program, behind librheaper: the loader searches the
# program's libraries in that order, and so before the C library, for malloc and for everything that is allocated with it, in the program,
# in libc and in every other library. librheaper itself does not ask for it. In a program that only uses the interface it would come in
# behind the C library: a second heap, of which nothing but some C++ operators would be in use.

# RH_WITH_BACKEND: --with-backend; defines RH_BACKEND, sets
#   BACKEND_LIBS          for Libs in rheaper.pc: empty for glibc
#   BACKEND_STATIC_LIBS   for Libs.private: what a static archive of it needs
#   BACKEND_LDFLAGS       begins with a comma, to go behind -Wl: the wrapped program itself calls none of the allocator's functions.
#                         --no-as-needed keeps the shared library nevertheless; build systems move other flags in front, so it is not
#                         pushed and popped around the library. The symbol takes the allocator out of an archive, in whatever order.
AC_DEFUN([RH_WITH_BACKEND], [
	AC_ARG_WITH([backend],
		[AS_HELP_STRING([--with-backend=NAME],
			[the allocator of relinked programs: tcmalloc, mimalloc, jemalloc, or glibc, which is whatever they are linked with [glibc]])],
		[], [with_backend=glibc])
	BACKEND_LIBS=
	BACKEND_STATIC_LIBS=
	BACKEND_LDFLAGS=
	AS_CASE([$with_backend],
		[glibc], [],
		# The same allocator as libtcmalloc's, without the profilers that would look at the same heap.
		[tcmalloc], [
			_RH_BACKEND([libtcmalloc_minimal], [tcmalloc_minimal], [tc_version], [libgoogle-perftools-dev], [gperftools-devel])
			# The archive has malloc and C++'s operators in one member: ours come first, and are taken.
			BACKEND_STATIC_LIBS="-lstdc++ -lm -Wl,-z,muldefs"
		],
		[mimalloc], [_RH_BACKEND([mimalloc], [mimalloc], [mi_version], [libmimalloc-dev], [mimalloc-devel])],
		[jemalloc], [
			_RH_BACKEND([jemalloc], [jemalloc], [mallctl], [libjemalloc-dev], [jemalloc-devel])
			BACKEND_STATIC_LIBS="-lm"
		],
		[AC_MSG_ERROR([--with-backend=$with_backend: there is no such backend; there are glibc, tcmalloc, mimalloc and jemalloc])])
	AC_DEFINE_UNQUOTED([RH_BACKEND], ["$with_backend"], [The allocator underneath, as profiles name it.])
	AC_SUBST([BACKEND], [$with_backend])
	AC_SUBST([BACKEND_LIBS])
	AC_SUBST([BACKEND_STATIC_LIBS])
	AC_SUBST([BACKEND_LDFLAGS])
])

# _RH_BACKEND(PKG-CONFIG-NAME, LIBRARY, SYMBOL, DEBIAN-PACKAGE, FEDORA-PACKAGE): finds the library and makes sure that it is a malloc. The
# functions are those that it must have; -nostdlib, so that they cannot be the C library's.
AC_DEFUN([_RH_BACKEND], [
	PKG_CHECK_MODULES([BACKEND], [$1], [BACKEND_LIBS=`$PKG_CONFIG --libs-only-L "$1"`], [BACKEND_LIBS=])
	BACKEND_LIBS=`AS_ECHO(["$BACKEND_LIBS -l$2"]) | $SED 's/^ *//'`
	BACKEND_LDFLAGS=",-u,$3,--no-as-needed"
	rh_saved_LIBS=$LIBS
	LIBS="$BACKEND_LIBS $LIBS"
	AC_MSG_CHECKING([for lib$2])
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[char $3(void);]], [[return $3();]])], [rh_backend=yes], [rh_backend=no])
	AC_MSG_RESULT([$rh_backend])
	LIBS=$rh_saved_LIBS
	AS_IF([test $rh_backend = no], [RH_MISSING([lib$2 (--with-backend=$with_backend)], [$4], [$5])], [
		AC_MSG_CHECKING([whether lib$2 takes the place of malloc])
		rh_saved_LDFLAGS=$LDFLAGS
		LDFLAGS="$LDFLAGS -nostdlib -shared -fPIC -Wl,-z,defs"
		LIBS=$BACKEND_LIBS
		AC_LINK_IFELSE([AC_LANG_SOURCE([[
			void malloc(void), calloc(void), realloc(void), free(void), memalign(void), aligned_alloc(void), posix_memalign(void),
				malloc_usable_size(void);
			void all(void);
			void all(void)
			{
				malloc(); calloc(); realloc(); free(); memalign(); aligned_alloc(); posix_memalign(); malloc_usable_size();
			}]])], [rh_backend=yes], [rh_backend=no])
		AC_MSG_RESULT([$rh_backend])
		LDFLAGS=$rh_saved_LDFLAGS
		LIBS=$rh_saved_LIBS
		AS_IF([test $rh_backend = no],
			[AC_MSG_ERROR([this lib$2 is built without malloc and free by their names (a prefix, or no override): it is no backend])])
	])
])
