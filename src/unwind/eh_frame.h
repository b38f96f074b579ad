/* SPDX-License-Identifier: MIT
 *
 * What .eh_frame says about the frame of a pc: the rules of the three registers that a walk follows.
 *
 * Formats: Linux Standard Base Core 5.0, chapter 10.6 (.eh_frame, .eh_frame_hdr), and DWARF 5, section 6.4. The reader never looks outside
 * the object's bytes, whatever they hold. Async-signal-safe: no memory but the stack, no lock.
 */
#ifndef RH_EH_FRAME_H
#define RH_EH_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The object (program, library, vDSO) that holds a pc. */
struct rh_object {
	const uint8_t *start; /* its readable bytes: [start, end) */
	const uint8_t *end;
	const uint8_t *header; /* its .eh_frame_hdr, within them */
};

/* x86-64 numbers of the DWARF registers (System V ABI, AMD64 supplement, table 3.36). */
enum { RH_DWARF_RBP = 6, RH_DWARF_RSP = 7, RH_DWARF_RIP = 16 };

enum rh_rule_kind {
	RH_RULE_SAME,	    /* as in the inner frame; for the CFA: none given */
	RH_RULE_OFFSET,	    /* saved at CFA + offset; for the CFA: the register plus offset */
	RH_RULE_EXPRESSION, /* saved where the expression says; for the CFA: its value */
	RH_RULE_UNDEFINED,
	RH_RULE_OTHER /* in another register, a computed value: more than a walk follows */
};

struct rh_rule {
	uint8_t kind;
	uint8_t reg; /* the CFA's register */
	union {
		int64_t offset;
		const uint8_t *expression; /* its length, ULEB128, and then the operations: all within the object */
	};
};

struct rh_cfi {
	struct rh_rule cfa;
	struct rh_rule fp; /* rbp */
	struct rh_rule ra; /* the return address */
	bool signal_frame; /* what lies outward was interrupted, it did not call (augmentation 'S') */
};

enum rh_cfi_result {
	RH_CFI_FOUND,
	RH_CFI_NONE,	   /* nothing describes this pc */
	RH_CFI_UNSUPPORTED /* damaged, or a form that no compiler for this machine makes */
};

/* The rules in force at a pc of the object. */
enum rh_cfi_result rh_cfi_find(const struct rh_object *object, uintptr_t pc, struct rh_cfi *cfi);

/* A bounded reader. After a read past the end `bad` is set and all values are 0. */
struct rh_bytes {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

uint64_t rh_bytes_fixed(struct rh_bytes *bytes, unsigned size); /* little-endian, 1 to 8 bytes */
uint64_t rh_bytes_uleb(struct rh_bytes *bytes);
int64_t rh_bytes_sleb(struct rh_bytes *bytes);
void rh_bytes_skip(struct rh_bytes *bytes, uint64_t count);

#endif
