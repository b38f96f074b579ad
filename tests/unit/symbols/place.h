/* SPDX-License-Identifier: MIT
 *
 * A place in the code whose address a test can look up by name, and whose line is where PLACE(name) stands.
 */
#ifndef PLACE_H
#define PLACE_H

#ifdef WITHOUT_PLACES
#define PLACE(name) ((void)0)
#else
#define PLACE(name) __asm__ volatile(".globl " #name "\n" #name ": nop")
#endif

#endif
