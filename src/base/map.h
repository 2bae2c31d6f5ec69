/* SPDX-License-Identifier: MIT */
/* map.h - a hash map from 64-bit keys to 64-bit values (or pointers cast to uintptr_t). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"

struct map_slot {
	uint64_t key, value;
};

struct map {
	struct map_slot *slots;
	uint8_t *used; /* one byte per slot, because 0 is a valid key */
	size_t len, cap;
};

void map_done(struct map *m);
void map_reset(struct map *m); /* empties it, keeps the memory */
/* Frees memory when less than an eighth of it is used, so that a spike is not kept forever. */
void map_shrink(struct map *m);
void map_put(struct map *m, uint64_t key, uint64_t value);
bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value);
bool map_del(struct map *m, uint64_t key);
/* Iterates: `size_t it = 0; while (map_next(&m, &it, &slot)) …`. Entries must not be deleted
 * meanwhile. */
bool map_next(const struct map *m, size_t *it, struct map_slot *ret_slot);
