/* SPDX-License-Identifier: MIT */
/* short_hash.h - hashes that are the same on every machine and for ever, and short names of them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHORT_HASH_SEED UINT64_C(0xcbf29ce484222325)
#define SHORT_HASH_LEN 6

/* FNV-1a; begin with SHORT_HASH_SEED. */
uint64_t short_hash(uint64_t hash, const void *bytes, size_t n);
/* 6 characters of 32 lower-case letters and digits that are hard to take for one another, and a
 * NUL. */
void short_hash_name(uint64_t hash, char ret[SHORT_HASH_LEN + 1]);
