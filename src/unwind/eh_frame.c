/* SPDX-License-Identifier: MIT
 *
 * Reading .eh_frame: from a pc to its FDE by binary search, from the FDE and its CIE to the rules at the pc.
 *
 * Only three registers are followed (CFA, rbp, return address); instructions for the others are read and dropped.
 */
#include "unwind/eh_frame.h"

#include <string.h>

/* Pointer encodings, LSB 10.5.1. */
enum {
	ENCODING_OMIT = 0xff,
	ENCODING_FORMAT = 0x0f,
	ENCODING_BASE = 0x70,
	ENCODING_INDIRECT = 0x80,
	BASE_ABSOLUTE = 0x00,
	BASE_PC = 0x10,
	BASE_DATA = 0x30,
	ENCODING_TABLE = 0x3b /* signed 4 bytes from the header: the only form of search table that linkers write */
};

/* Call frame instructions, DWARF 5, 7.24. The first three keep an operand in their low six bits. */
enum {
	CFA_ADVANCE_LOC = 1,
	CFA_OFFSET = 2,
	CFA_RESTORE = 3,

	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e
};

/* Compilers remember one state for each epilogue in the middle of a function, nested once or twice. */
#define REMEMBERED_STATES 8

/* What a CIE says about its FDEs. */
struct cie {
	struct rh_bytes instructions;
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t encoding; /* of the pcs in its FDEs */
	bool augmented;	  /* its FDEs have augmentation data to skip */
	bool signal_frame;
};

uint64_t rh_bytes_fixed(struct rh_bytes *bytes, unsigned size)
{
	uint64_t value = 0;

	if (bytes->bad || (size_t)(bytes->end - bytes->at) < size) {
		bytes->bad = true;
		return 0;
	}
	memcpy(&value, bytes->at, size);
	bytes->at += size;
	return value;
}

uint64_t rh_bytes_uleb(struct rh_bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint64_t byte = rh_bytes_fixed(bytes, 1);

		value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return bytes->bad ? 0 : value;
	}
	bytes->bad = true;
	return 0;
}

int64_t rh_bytes_sleb(struct rh_bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64;) {
		uint64_t byte = rh_bytes_fixed(bytes, 1);

		value |= (byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80)) {
			if ((byte & 0x40) && shift < 64)
				value |= ~UINT64_C(0) << shift;
			return bytes->bad ? 0 : (int64_t)value;
		}
	}
	bytes->bad = true;
	return 0;
}

void rh_bytes_skip(struct rh_bytes *bytes, uint64_t count)
{
	if (bytes->bad || (uint64_t)(bytes->end - bytes->at) < count)
		bytes->bad = true;
	else
		bytes->at += count;
}

static uint64_t sign_extend(uint64_t value, unsigned size)
{
	unsigned unused = 64 - 8 * size;

	return (uint64_t)((int64_t)(value << unused) >> unused);
}

/* An encoded pointer. An indirect one is read over, its value is then the address of the pointer: only personality routines use it. */
static uint64_t read_encoded(struct rh_bytes *bytes, uint8_t encoding, const uint8_t *data_base)
{
	uint64_t base = 0, value;

	if (encoding == ENCODING_OMIT)
		return 0;
	switch (encoding & ENCODING_BASE) {
	case BASE_ABSOLUTE:
		break;
	case BASE_PC:
		base = (uintptr_t)bytes->at;
		break;
	case BASE_DATA:
		base = (uintptr_t)data_base;
		break;
	default:
		bytes->bad = true;
		return 0;
	}
	switch (encoding & ENCODING_FORMAT) {
	case 0x00:
	case 0x04:
	case 0x0c:
		value = rh_bytes_fixed(bytes, 8);
		break;
	case 0x01:
		value = rh_bytes_uleb(bytes);
		break;
	case 0x02:
		value = rh_bytes_fixed(bytes, 2);
		break;
	case 0x03:
		value = rh_bytes_fixed(bytes, 4);
		break;
	case 0x09:
		value = (uint64_t)rh_bytes_sleb(bytes);
		break;
	case 0x0a:
		value = sign_extend(rh_bytes_fixed(bytes, 2), 2);
		break;
	case 0x0b:
		value = sign_extend(rh_bytes_fixed(bytes, 4), 4);
		break;
	default:
		bytes->bad = true;
		return 0;
	}
	return bytes->bad ? 0 : value + base;
}

/* The bytes of the record (CIE or FDE) at `at`: after its length up to its end. Bad or empty when it does not lie in the object; the
 * 64-bit form, for sections beyond 4 GB, is not read. */
static struct rh_bytes open_record(const struct rh_object *object, const uint8_t *at)
{
	struct rh_bytes record = {.at = at, .end = object->end};
	uint64_t length;

	if (at < object->start || at >= object->end) {
		record.at = record.end;
		record.bad = true;
		return record;
	}
	length = rh_bytes_fixed(&record, 4);
	if (!record.bad && length <= (uint64_t)(record.end - record.at))
		record.end = record.at + length;
	else
		record.bad = true;
	return record;
}

static bool read_cie(const struct rh_object *object, const uint8_t *at, struct cie *cie)
{
	struct rh_bytes record = open_record(object, at);
	const uint8_t *augmentation;
	uint64_t id = rh_bytes_fixed(&record, 4);
	uint64_t version = rh_bytes_fixed(&record, 1);

	if (record.bad || id != 0 || (version != 1 && version != 3))
		return false;
	augmentation = record.at;
	while (rh_bytes_fixed(&record, 1) != 0)
		;
	memset(cie, 0, sizeof(*cie));
	cie->code_factor = rh_bytes_uleb(&record);
	cie->data_factor = rh_bytes_sleb(&record);
	if (version == 1)
		rh_bytes_skip(&record, 1); /* the return address's register: rip */
	else
		rh_bytes_uleb(&record);
	if (record.bad)
		return false;

	if (*augmentation == 'z') {
		uint64_t length = rh_bytes_uleb(&record);
		struct rh_bytes data = record;

		rh_bytes_skip(&record, length);
		cie->augmented = true;
		while (*++augmentation) {
			if (*augmentation == 'R')
				cie->encoding = (uint8_t)rh_bytes_fixed(&data, 1);
			else if (*augmentation == 'L')
				rh_bytes_skip(&data, 1);
			else if (*augmentation == 'P')
				read_encoded(&data, (uint8_t)rh_bytes_fixed(&data, 1) & (uint8_t)~ENCODING_INDIRECT, NULL);
			else if (*augmentation == 'S')
				cie->signal_frame = true;
			else
				break; /* what follows is skipped by its length */
		}
		if (data.bad)
			return false;
	} else if (*augmentation) {
		return false;
	}
	cie->instructions = record;
	return !record.bad;
}

/* An FDE's record after its CIE pointer; bad when this is no FDE. */
static struct rh_bytes open_fde(const struct rh_object *object, const uint8_t *at, struct cie *cie)
{
	struct rh_bytes fde = open_record(object, at);
	const uint8_t *field = fde.at;
	uint64_t back = rh_bytes_fixed(&fde, 4);

	if (fde.bad || back == 0 || back > (uint64_t)(field - object->start) || !read_cie(object, field - back, cie))
		fde.bad = true;
	return fde;
}

/* Reads on to the instructions. False when the FDE does not cover the pc. */
static bool fde_covers(struct rh_bytes *fde, const struct cie *cie, uintptr_t pc, uint64_t *begin)
{
	uint64_t size;

	*begin = read_encoded(fde, cie->encoding, NULL);
	size = read_encoded(fde, cie->encoding & ENCODING_FORMAT, NULL);
	if (cie->augmented)
		rh_bytes_skip(fde, rh_bytes_uleb(fde));
	return !fde->bad && pc - *begin < size;
}

/* A header without a search table: the linker found .eh_frame sections that it could not read. Try every FDE. */
static enum rh_cfi_result scan(const struct rh_object *object, const uint8_t *at, uintptr_t pc, struct rh_bytes *fde, struct cie *cie,
			       uint64_t *begin)
{
	for (;;) {
		struct rh_bytes record = open_record(object, at);

		if (record.bad)
			return RH_CFI_UNSUPPORTED;
		if (record.at == record.end)
			return RH_CFI_NONE;
		*fde = open_fde(object, at, cie);
		if (!fde->bad && fde_covers(fde, cie, pc, begin))
			return RH_CFI_FOUND;
		at = record.end;
	}
}

static int32_t table_word(const uint8_t *table, uint64_t index)
{
	int32_t word;

	memcpy(&word, table + 4 * index, sizeof(word));
	return word;
}

static enum rh_cfi_result find_fde(const struct rh_object *object, uintptr_t pc, struct rh_bytes *fde, struct cie *cie, uint64_t *begin)
{
	const uint8_t *header = object->header;
	struct rh_bytes bytes = {.at = header, .end = object->end};
	uint64_t version, frame_encoding, count_encoding, table_encoding, frames, count, low, high;

	if (header < object->start || header >= object->end)
		return RH_CFI_UNSUPPORTED;
	version = rh_bytes_fixed(&bytes, 1);
	frame_encoding = rh_bytes_fixed(&bytes, 1);
	count_encoding = rh_bytes_fixed(&bytes, 1);
	table_encoding = rh_bytes_fixed(&bytes, 1);
	frames = read_encoded(&bytes, (uint8_t)frame_encoding, header);
	if (bytes.bad || version != 1 || frame_encoding == ENCODING_OMIT)
		return RH_CFI_UNSUPPORTED;
	if (count_encoding == ENCODING_OMIT || table_encoding != ENCODING_TABLE)
		return scan(object, (const uint8_t *)(uintptr_t)frames, pc, fde, cie, begin);

	count = read_encoded(&bytes, (uint8_t)count_encoding, header);
	if (bytes.bad || count > (uint64_t)(bytes.end - bytes.at) / 8)
		return RH_CFI_UNSUPPORTED;
	/* Pairs: first pc, address of the FDE; both from the header, sorted by pc. The last one that begins at or before the pc. */
	for (low = 0, high = count; low < high;) {
		uint64_t middle = low + (high - low) / 2;

		if ((uintptr_t)header + (uintptr_t)(intptr_t)table_word(bytes.at, 2 * middle) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return RH_CFI_NONE;
	/* As numbers: a damaged table may point anywhere. */
	*fde = open_fde(object, (const uint8_t *)((uintptr_t)header + (uintptr_t)(intptr_t)table_word(bytes.at, 2 * low - 1)), cie);
	if (fde->bad)
		return RH_CFI_UNSUPPORTED;
	if (fde_covers(fde, cie, pc, begin))
		return RH_CFI_FOUND;
	return fde->bad ? RH_CFI_UNSUPPORTED : RH_CFI_NONE;
}

/* The rule of a register that is followed; a dummy for the others. */
static struct rh_rule *rule_of(struct rh_cfi *cfi, uint64_t reg, struct rh_rule *dummy)
{
	if (reg == RH_DWARF_RBP)
		return &cfi->fp;
	if (reg == RH_DWARF_RIP)
		return &cfi->ra;
	return dummy;
}

static void set_expression(struct rh_rule *rule, struct rh_bytes *bytes)
{
	rule->kind = RH_RULE_EXPRESSION;
	rule->expression = bytes->at;
	rh_bytes_skip(bytes, rh_bytes_uleb(bytes));
}

static void set_cfa(struct rh_rule *cfa, uint64_t reg, int64_t offset)
{
	cfa->kind = reg < 256 ? RH_RULE_OFFSET : RH_RULE_OTHER;
	cfa->reg = (uint8_t)reg;
	cfa->offset = offset;
}

/* Runs instructions up to the row that is in force at the pc. `initial`: the state after the CIE's, for restore; NULL while running those.
 */
static bool run(struct rh_bytes bytes, const struct cie *cie, uint64_t location, uintptr_t pc, struct rh_cfi *cfi,
		const struct rh_cfi *initial)
{
	struct rh_cfi remembered[REMEMBERED_STATES];
	struct rh_rule dummy;
	unsigned depth = 0;

	while (bytes.at < bytes.end && !bytes.bad) {
		uint8_t byte = (uint8_t)rh_bytes_fixed(&bytes, 1), low = byte & 0x3f;
		struct rh_rule *rule;
		uint64_t reg;

		switch (byte >> 6) {
		case CFA_ADVANCE_LOC:
			location += low * cie->code_factor;
			if (location > pc)
				return true;
			continue;
		case CFA_OFFSET:
			rule = rule_of(cfi, low, &dummy);
			rule->kind = RH_RULE_OFFSET;
			rule->offset = (int64_t)(rh_bytes_uleb(&bytes) * (uint64_t)cie->data_factor);
			continue;
		case CFA_RESTORE:
			reg = low;
			goto restore;
		}
		switch (byte) {
		case CFA_NOP:
			break;
		case CFA_SET_LOC:
			location = read_encoded(&bytes, cie->encoding, NULL);
			break;
		case CFA_ADVANCE_LOC1:
			location += rh_bytes_fixed(&bytes, 1) * cie->code_factor;
			break;
		case CFA_ADVANCE_LOC2:
			location += rh_bytes_fixed(&bytes, 2) * cie->code_factor;
			break;
		case CFA_ADVANCE_LOC4:
			location += rh_bytes_fixed(&bytes, 4) * cie->code_factor;
			break;
		case CFA_OFFSET_EXTENDED:
			rule = rule_of(cfi, rh_bytes_uleb(&bytes), &dummy);
			rule->kind = RH_RULE_OFFSET;
			rule->offset = (int64_t)(rh_bytes_uleb(&bytes) * (uint64_t)cie->data_factor);
			break;
		case CFA_OFFSET_EXTENDED_SF:
			rule = rule_of(cfi, rh_bytes_uleb(&bytes), &dummy);
			rule->kind = RH_RULE_OFFSET;
			rule->offset = (int64_t)((uint64_t)rh_bytes_sleb(&bytes) * (uint64_t)cie->data_factor);
			break;
		case CFA_RESTORE_EXTENDED:
			reg = rh_bytes_uleb(&bytes);
		restore:
			if (!initial)
				return false;
			if (reg == RH_DWARF_RBP)
				cfi->fp = initial->fp;
			else if (reg == RH_DWARF_RIP)
				cfi->ra = initial->ra;
			break;
		case CFA_UNDEFINED:
			rule_of(cfi, rh_bytes_uleb(&bytes), &dummy)->kind = RH_RULE_UNDEFINED;
			break;
		case CFA_SAME_VALUE:
			rule_of(cfi, rh_bytes_uleb(&bytes), &dummy)->kind = RH_RULE_SAME;
			break;
		case CFA_REGISTER:
		case CFA_VAL_OFFSET:
		case CFA_VAL_OFFSET_SF:
			rule_of(cfi, rh_bytes_uleb(&bytes), &dummy)->kind = RH_RULE_OTHER;
			rh_bytes_uleb(&bytes); /* the operand; signed or not, its length is found alike */
			break;
		case CFA_REMEMBER_STATE:
			if (depth == REMEMBERED_STATES)
				return false;
			remembered[depth++] = *cfi;
			break;
		case CFA_RESTORE_STATE:
			if (depth == 0)
				return false;
			*cfi = remembered[--depth];
			break;
		case CFA_DEF_CFA:
			reg = rh_bytes_uleb(&bytes);
			set_cfa(&cfi->cfa, reg, (int64_t)rh_bytes_uleb(&bytes));
			break;
		case CFA_DEF_CFA_SF:
			reg = rh_bytes_uleb(&bytes);
			set_cfa(&cfi->cfa, reg, (int64_t)((uint64_t)rh_bytes_sleb(&bytes) * (uint64_t)cie->data_factor));
			break;
		case CFA_DEF_CFA_REGISTER:
			reg = rh_bytes_uleb(&bytes);
			if (cfi->cfa.kind != RH_RULE_OFFSET)
				return false;
			set_cfa(&cfi->cfa, reg, cfi->cfa.offset);
			break;
		case CFA_DEF_CFA_OFFSET:
			if (cfi->cfa.kind != RH_RULE_OFFSET)
				return false;
			cfi->cfa.offset = (int64_t)rh_bytes_uleb(&bytes);
			break;
		case CFA_DEF_CFA_OFFSET_SF:
			if (cfi->cfa.kind != RH_RULE_OFFSET)
				return false;
			cfi->cfa.offset = (int64_t)((uint64_t)rh_bytes_sleb(&bytes) * (uint64_t)cie->data_factor);
			break;
		case CFA_DEF_CFA_EXPRESSION:
			set_expression(&cfi->cfa, &bytes);
			break;
		case CFA_EXPRESSION:
			rule = rule_of(cfi, rh_bytes_uleb(&bytes), &dummy);
			set_expression(rule, &bytes);
			break;
		case CFA_VAL_EXPRESSION:
			rule = rule_of(cfi, rh_bytes_uleb(&bytes), &dummy);
			set_expression(rule, &bytes);
			rule->kind = RH_RULE_OTHER;
			break;
		case CFA_GNU_ARGS_SIZE:
			rh_bytes_uleb(&bytes);
			break;
		default:
			return false;
		}
		if (location > pc)
			return !bytes.bad;
	}
	return !bytes.bad;
}

enum rh_cfi_result rh_cfi_find(const struct rh_object *object, uintptr_t pc, struct rh_cfi *cfi)
{
	struct rh_bytes fde;
	struct rh_cfi initial;
	struct cie cie;
	uint64_t begin;
	enum rh_cfi_result result = find_fde(object, pc, &fde, &cie, &begin);

	if (result != RH_CFI_FOUND)
		return result;
	memset(cfi, 0, sizeof(*cfi));
	cfi->signal_frame = cie.signal_frame;
	if (!run(cie.instructions, &cie, begin, UINTPTR_MAX, cfi, NULL))
		return RH_CFI_UNSUPPORTED;
	initial = *cfi;
	return run(fde, &cie, begin, pc, cfi, &initial) ? RH_CFI_FOUND : RH_CFI_UNSUPPORTED;
}
