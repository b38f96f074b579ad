/* SPDX-License-Identifier: MIT
 *
 * Arrays that grow: room for one more element of a plain array with a count and a capacity beside it.
 */
#ifndef VECTOR_H
#define VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Makes room for `count` elements of `size` bytes; false when memory is out (the old array is untouched then). */
static inline bool vector_reserve(void **array, size_t *capacity, size_t count, size_t size)
{
	size_t wanted = *capacity ? *capacity : 16;
	void *grown;

	if (count <= *capacity)
		return true;
	while (wanted < count)
		wanted += wanted / 2;
	if (wanted > SIZE_MAX / size)
		return false;
	grown = realloc(*array, wanted * size);
	if (!grown)
		return false;
	*array = grown;
	*capacity = wanted;
	return true;
}

/* Room for element number `count` of `array` (a pointer variable), whose capacity is `capacity` (a size_t variable). */
#define VECTOR_ROOM(array, capacity, count)                                                              \
	({                                                                                               \
		void *array_ = (array);                                                                  \
		bool room_ = vector_reserve(&array_, &(capacity), (size_t)(count) + 1, sizeof *(array)); \
		(array) = array_;                                                                        \
		room_;                                                                                   \
	})

#endif
