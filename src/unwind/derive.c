/* SPDX-License-Identifier: MIT
 *
 * From call frame information to a row.
 *
 * The rules of nearly all code fit as they are. Expressions are evaluated once, symbolically: those of realigned frames, of the PLT and of
 * glibc's signal trampoline come down to a register plus an offset, or to what lies there.
 */
#include "unwind/derive.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/ucontext.h>

#include "unwind/eh_frame.h"
#include "unwind/find.h"

#if defined(__x86_64__)

/* A symbolic value: offset, a register plus offset, or the word at a register plus offset. */
struct value {
	enum { NUMBER, SP, FP, AT_SP, AT_FP, UNKNOWN } base;
	int64_t offset;
};

#define EXPRESSION_STACK 8

/* DWARF 5, 7.7.1: the operations that occur. */
enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST4U = 0x0c,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f
};

static struct value binary(uint8_t op, struct value a, struct value b)
{
	struct value result = {UNKNOWN, 0};

	if (op == OP_PLUS && a.base == NUMBER && b.base <= FP)
		return (struct value){b.base, (int64_t)((uint64_t)a.offset + (uint64_t)b.offset)};
	if (b.base != NUMBER)
		return result;
	if (a.base <= FP && (op == OP_PLUS || op == OP_MINUS)) {
		result.base = a.base;
		result.offset =
		    (int64_t)(op == OP_PLUS ? (uint64_t)a.offset + (uint64_t)b.offset : (uint64_t)a.offset - (uint64_t)b.offset);
	} else if (a.base == NUMBER) {
		result.base = NUMBER;
		if (op == OP_AND)
			result.offset = a.offset & b.offset;
		else if (op == OP_GE)
			result.offset = a.offset >= b.offset;
		else if (op == OP_SHL && (uint64_t)b.offset < 64)
			result.offset = (int64_t)((uint64_t)a.offset << b.offset);
		else
			result.base = UNKNOWN;
	}
	return result;
}

static struct value of_register(unsigned reg, int64_t offset, uintptr_t code)
{
	switch (reg) {
	case RH_DWARF_RSP:
		return (struct value){SP, offset};
	case RH_DWARF_RBP:
		return (struct value){FP, offset};
	case RH_DWARF_RIP: /* used by the PLT alone, which makes no calls: code is the pc itself there */
		return (struct value){NUMBER, (int64_t)(code + (uint64_t)offset)};
	}
	return (struct value){UNKNOWN, 0};
}

static struct value evaluate(const uint8_t *expression, const uint8_t *end, uintptr_t code)
{
	struct rh_bytes bytes = {.at = expression, .end = end};
	uint64_t length = rh_bytes_uleb(&bytes);
	struct value stack[EXPRESSION_STACK], unknown = {UNKNOWN, 0};
	unsigned depth = 0;

	if (bytes.bad || length > (uint64_t)(bytes.end - bytes.at))
		return unknown;
	bytes.end = bytes.at + length;
	while (bytes.at < bytes.end && !bytes.bad) {
		uint8_t op = (uint8_t)rh_bytes_fixed(&bytes, 1);
		struct value *top = depth ? &stack[depth - 1] : NULL, next = {NUMBER, 0};

		switch (op) {
		case OP_AND:
		case OP_MINUS:
		case OP_PLUS:
		case OP_SHL:
		case OP_GE:
			if (depth < 2)
				return unknown;
			stack[depth - 2] = binary(op, stack[depth - 2], *top);
			depth--;
			continue;
		case OP_PLUS_UCONST:
			if (!top)
				return unknown;
			next.offset = (int64_t)rh_bytes_uleb(&bytes);
			*top = binary(OP_PLUS, *top, next);
			continue;
		case OP_DEREF:
			if (!top)
				return unknown;
			top->base = top->base == SP ? AT_SP : top->base == FP ? AT_FP : UNKNOWN;
			continue;
		case OP_CONST1U:
			next.offset = (int64_t)rh_bytes_fixed(&bytes, 1);
			break;
		case OP_CONST1S:
			next.offset = (int8_t)rh_bytes_fixed(&bytes, 1);
			break;
		case OP_CONST2U:
			next.offset = (int64_t)rh_bytes_fixed(&bytes, 2);
			break;
		case OP_CONST4U:
			next.offset = (int64_t)rh_bytes_fixed(&bytes, 4);
			break;
		case OP_CONSTU:
			next.offset = (int64_t)rh_bytes_uleb(&bytes);
			break;
		case OP_CONSTS:
			next.offset = rh_bytes_sleb(&bytes);
			break;
		default:
			if (op >= OP_LIT0 && op <= OP_LIT31)
				next.offset = op - OP_LIT0;
			else if (op >= OP_BREG0 && op <= OP_BREG31)
				next = of_register(op - OP_BREG0, rh_bytes_sleb(&bytes), code);
			else
				return unknown;
		}
		if (depth == EXPRESSION_STACK)
			return unknown;
		stack[depth++] = next;
	}
	return bytes.bad || depth != 1 ? unknown : stack[0];
}

static bool expression_is(const struct rh_rule *rule, const uint8_t *end, int base, int64_t offset)
{
	struct value value;

	if (rule->kind != RH_RULE_EXPRESSION)
		return false;
	value = evaluate(rule->expression, end, 0);
	return (int)value.base == base && value.offset == offset;
}

#define GREG_OFFSET(reg) ((int64_t)offsetof(ucontext_t, uc_mcontext.gregs[reg]))

/* A signal frame whose registers lie where the kernel's rt_sigframe has them. */
static bool is_kernel_frame(const struct rh_cfi *cfi, const uint8_t *end)
{
	return expression_is(&cfi->cfa, end, AT_SP, GREG_OFFSET(REG_RSP)) && expression_is(&cfi->ra, end, SP, GREG_OFFSET(REG_RIP)) &&
	       expression_is(&cfi->fp, end, SP, GREG_OFFSET(REG_RBP));
}

/* A restorer without CFI (musl, runtimes that make their own): known by its code, mov $SYS_rt_sigreturn, %rax or %eax; syscall. `code` is
 * the byte before it, when it is looked up as a return address, or its first, when it was interrupted there. */
static bool is_restorer(uintptr_t code, const uint8_t *end)
{
	static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
	static const uint8_t narrow[] = {0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

	for (const uint8_t *at = (const uint8_t *)code; at <= (const uint8_t *)code + 1; at++) {
		if (end > at && (size_t)(end - at) >= sizeof(wide) &&
		    (memcmp(at, wide, sizeof(wide)) == 0 || memcmp(at, narrow, sizeof(narrow)) == 0))
			return true;
	}
	return false;
}

/* The stack is made of words, and no frame is larger than what an int32_t counts. */
static bool is_offset(int64_t offset, int64_t limit)
{
	return offset % 8 == 0 && offset < limit && offset > -limit;
}

struct rh_row rh_row_from(const struct rh_cfi *cfi, const uint8_t *end, uintptr_t code)
{
	const struct rh_row hard = {.kind = RH_ROW_HARD};
	struct rh_row row = {.fp_offset = RH_FP_KEPT};
	struct value cfa = {UNKNOWN, 0};
	int64_t fp;

	if (cfi->signal_frame)
		return is_kernel_frame(cfi, end) ? (struct rh_row){.kind = RH_ROW_SIGNAL} : hard;
	if (cfi->ra.kind == RH_RULE_UNDEFINED)
		return (struct rh_row){.kind = RH_ROW_END};
	if (cfi->ra.kind != RH_RULE_OFFSET || cfi->ra.offset != -8)
		return hard;

	if (cfi->cfa.kind == RH_RULE_OFFSET)
		cfa = of_register(cfi->cfa.reg == RH_DWARF_RIP ? UINT8_MAX : cfi->cfa.reg, cfi->cfa.offset, code);
	else if (cfi->cfa.kind == RH_RULE_EXPRESSION)
		cfa = evaluate(cfi->cfa.expression, end, code);
	if (!is_offset(cfa.offset, INT32_MAX))
		return hard;
	row.cfa_offset = (int32_t)cfa.offset;
	if (cfa.base == SP && cfa.offset > 0)
		row.kind = RH_ROW_SP;
	else if (cfa.base == FP)
		row.kind = RH_ROW_FP;
	else if (cfa.base == AT_FP)
		row.kind = RH_ROW_REALIGN;
	else
		return hard;

	if (cfi->fp.kind == RH_RULE_SAME || cfi->fp.kind == RH_RULE_UNDEFINED)
		return row.kind == RH_ROW_REALIGN ? hard : row;
	if (cfi->fp.kind == RH_RULE_OFFSET && row.kind != RH_ROW_REALIGN) {
		fp = cfi->fp.offset;
	} else if (cfi->fp.kind == RH_RULE_EXPRESSION && row.kind != RH_ROW_SP) {
		struct value slot = evaluate(cfi->fp.expression, end, code);

		if (slot.base != FP)
			return hard;
		fp = row.kind == RH_ROW_FP ? slot.offset - cfa.offset : slot.offset;
	} else {
		return hard;
	}
	if (!is_offset(fp, INT16_MAX))
		return hard;
	row.fp_offset = (int16_t)fp;
	return row;
}

struct rh_row rh_row_make(uintptr_t code)
{
	const struct rh_row lost = {.kind = RH_ROW_LOST};
	struct rh_object object;
	struct rh_cfi cfi;

	if (rh_find_object(code, &object)) {
		switch (rh_cfi_find(&object, code, &cfi)) {
		case RH_CFI_FOUND:
			return rh_row_from(&cfi, object.end, code);
		case RH_CFI_UNSUPPORTED:
			return (struct rh_row){.kind = RH_ROW_HARD};
		case RH_CFI_NONE:
			if (is_restorer(code, object.end))
				return (struct rh_row){.kind = RH_ROW_SIGNAL};
			/* Nothing here, but a function begins at the return address: it was not called from there. The bottom of a
			 * stack that was made by hand looks so; makecontext(3) lets its functions return to one that goes on to uc_link. */
			if (rh_cfi_find(&object, code + 1, &cfi) == RH_CFI_FOUND)
				return (struct rh_row){.kind = RH_ROW_END};
			return lost;
		}
	}
	if (object.start && is_restorer(code, object.end))
		return (struct rh_row){.kind = RH_ROW_SIGNAL};
	return lost;
}

#endif
