/* SPDX-License-Identifier: MIT
 *
 * Functions with a hole between them, aliases of one place, and a label without a size.
 */
	.text
	.globl	sized
	.type	sized, @function
	.globl	__sized_alias
	.type	__sized_alias, @function
	.type	local_alias, @function
sized:
__sized_alias:
local_alias:
	.skip	16, 0x90
	.size	sized, 16
	.size	__sized_alias, 16
	.size	local_alias, 16
	.skip	16, 0x90
	.globl	after
	.type	after, @function
after:
	nop /* after's first */
	.skip	15, 0x90
	.size	after, 16
	.globl	unsized
unsized:
	.skip	8, 0x90
	.section .note.GNU-stack, "", @progbits
