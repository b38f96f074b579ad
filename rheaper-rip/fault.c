/* SPDX-License-Identifier: MIT
 *
 * One line for what went wrong.
 */
#include "config.h"

#include "fault.h"

#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fault_set(struct fault *fault, const char *file, uint64_t offset, const char *format, ...)
{
	size_t used;
	va_list list;

	if (fault->text[0])
		return -1;
	if (offset == FAULT_NOWHERE)
		snprintf(fault->text, sizeof fault->text, "%s: ", file);
	else
		snprintf(fault->text, sizeof fault->text, "%s at byte %" PRIu64 ": ", file, offset);
	used = strlen(fault->text);
	va_start(list, format);
	vsnprintf(fault->text + used, sizeof fault->text - used, format, list);
	va_end(list);
	text_line(fault->text);
	return -1;
}

int fault_errno(struct fault *fault, const char *file)
{
	return fault_set(fault, file, FAULT_NOWHERE, "%s", strerror(errno));
}

int fault_memory(struct fault *fault)
{
	return fault_set(fault, "memory", FAULT_NOWHERE, "%s", strerror(ENOMEM));
}
