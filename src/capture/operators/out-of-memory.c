/* SPDX-License-Identifier: MIT
 *
 * What operator new does when the allocator has nothing left ([new.delete.single]): the new handler, or std::bad_alloc.
 *
 * Both come from the C++ library, GNU's and LLVM's alike. The archive refers to them strongly, so that a static program has them; the
 * shared library weakly, so that C programs need no C++ library.
 */
#include "config.h"

#include <stdlib.h>

#include "capture/operators/operators.h"

#if defined(PIC)
#define RH_CXX_LIBRARY __attribute__((weak))
#else
#define RH_CXX_LIBRARY
#endif

typedef void rh_new_handler(void);
extern RH_CXX_LIBRARY rh_new_handler *_ZSt15get_new_handlerv(void);  /* std::get_new_handler() */
extern RH_CXX_LIBRARY _Noreturn void _ZSt17__throw_bad_allocv(void); /* std::__throw_bad_alloc() */

void rh_out_of_memory(void)
{
#if defined(PIC)
	rh_new_handler *handler = &_ZSt15get_new_handlerv ? _ZSt15get_new_handlerv() : NULL;
#else
	rh_new_handler *handler = _ZSt15get_new_handlerv();
#endif

	if (handler) {
		handler(); /* may throw through us */
		return;
	}
#if defined(PIC)
	if (!&_ZSt17__throw_bad_allocv)
		abort(); /* what a program without exceptions does */
#endif
	_ZSt17__throw_bad_allocv();
}
