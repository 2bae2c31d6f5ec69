/* SPDX-License-Identifier: MIT */
/* hash.h - the one hash function: FNV-1a, the same on every machine and in every version. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HASH_SEED UINT64_C(0xcbf29ce484222325)

/* Continues `hash`; begin with HASH_SEED. */
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n);

#define HASH_NAME_LEN 6
/* A short name for a hash: `len`, at most 12, of 32 lower-case letters and digits that are hard to
 * confuse, and a NUL. */
void hash_name(uint64_t hash, size_t len, char *ret);
