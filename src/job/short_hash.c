/* SPDX-License-Identifier: MIT */
#include "job/short_hash.h"

uint64_t short_hash(uint64_t hash, const void *bytes, size_t n)
{
	for (const unsigned char *p = bytes, *end = p + n; p < end; p++)
		hash = (hash ^ *p) * UINT64_C(0x100000001b3);
	return hash;
}

void short_hash_name(uint64_t hash, char ret[SHORT_HASH_LEN + 1])
{
	static const char letters[32] = "0123456789abcdefghjkmnpqrstvwxyz"; /* no i l o u */

	/* FNV is weak in its high bits for short texts, and in its low ones for texts that end
	 * alike. */
	hash ^= hash >> 32;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	for (int i = 0; i < SHORT_HASH_LEN; i++) {
		ret[i] = letters[hash >> 59];
		hash <<= 5;
	}
	ret[SHORT_HASH_LEN] = '\0';
}
