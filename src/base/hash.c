/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
	for (const unsigned char *p = bytes; n; p++, n--)
		hash = (hash ^ *p) * UINT64_C(0x100000001b3);
	return hash;
}

void hash_name(uint64_t hash, size_t len, char *ret)
{
	static const char letters[32] = "0123456789abcdefghjkmnpqrstvwxyz"; /* no i l o u */

	/* FNV is weak in its high bits for short texts, and in its low bits for texts with the
	 * same end. */
	hash ^= hash >> 32;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	for (size_t i = 0; i < len; i++) {
		ret[i] = letters[hash >> 59];
		hash <<= 5;
	}
	ret[len] = '\0';
}
