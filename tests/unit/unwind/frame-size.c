/* SPDX-License-Identifier: MIT
 *
 * A shared object with one function that has a frame of FRAME_SIZE bytes and calls its argument. Built with two sizes (both need four bytes
 * in the instruction, so that all addresses are the same): what is learnt about one is wrong for the other.
 */
#define STRING_(x) #x
#define STRING(x) STRING_(x)

__asm__(".text\n"
	".globl call_through\n"
	".type call_through, @function\n"
	"call_through:\n"
	"	.cfi_startproc\n"
	"	subq $" STRING(FRAME_SIZE) ", %rsp\n"
	"	.cfi_adjust_cfa_offset " STRING(FRAME_SIZE) "\n"
	"	call *%rdi\n"
	"	addq $" STRING(FRAME_SIZE) ", %rsp\n"
	"	.cfi_adjust_cfa_offset -" STRING(FRAME_SIZE) "\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size call_through, . - call_through\n");
