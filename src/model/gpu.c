/* SPDX-License-Identifier: MIT */
#include "model/gpu.h"

#include <stdio.h>

#define X(id, key, words) key,
const char *const gpu_throttle_keys[] = { GPU_THROTTLES(X) };
#undef X

void gpu_throttle_words(uint32_t throttle, char *to, size_t cap)
{
#define X(id, key, words) words,
	static const char *const all[] = { GPU_THROTTLES(X) };
#undef X
	size_t len = 0;

	to[0] = '\0';
	for (unsigned i = 0; i < GPU_THROTTLE_COUNT && len < cap; i++)
		if (throttle >> i & 1)
			len += (size_t)snprintf(to + len, cap - len, "%s%s", len ? ", " : "",
			                        all[i]);
}
