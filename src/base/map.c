/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define MAP_FIRST 64
#define MAP_SMALL 1024 /* slots that are not worth freeing */

/* Fibonacci hashing spreads pids, which are dense, over the whole table. */
static size_t home_of(const struct map *m, uint64_t key)
{
	key ^= key >> 32;
	return (size_t)((key * 0x9E3779B97F4A7C15ull) >> 20) & (m->cap - 1);
}

/* The slot that holds the key, or the free one where it would go. */
static size_t slot_of(const struct map *m, uint64_t key)
{
	size_t i = home_of(m, key);

	while (m->used[i] && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

static void resize(struct map *m, size_t cap)
{
	struct map old = *m;

	m->cap = cap;
	m->slots = xcalloc(m->cap, sizeof *m->slots);
	m->used = xcalloc(m->cap, 1);
	for (size_t i = 0; i < old.cap; i++) {
		if (old.used[i]) {
			size_t to = slot_of(m, old.slots[i].key);

			m->slots[to] = old.slots[i];
			m->used[to] = 1;
		}
	}
	free(old.slots);
	free(old.used);
}

void map_done(struct map *m)
{
	free(m->slots);
	free(m->used);
	*m = (struct map){ 0 };
}

void map_reset(struct map *m)
{
	if (m->cap)
		memset(m->used, 0, m->cap);
	m->len = 0;
}

void map_shrink(struct map *m)
{
	size_t cap = m->cap;

	if (cap <= MAP_SMALL || m->len >= cap / 8)
		return;
	while (cap > MAP_SMALL && m->len < cap / 4)
		cap /= 2;
	resize(m, cap);
}

void map_put(struct map *m, uint64_t key, uint64_t value)
{
	size_t i;

	if (m->len * 4 >= m->cap * 3)
		resize(m, m->cap ? m->cap * 2 : MAP_FIRST);
	i = slot_of(m, key);
	m->len += !m->used[i];
	m->used[i] = 1;
	m->slots[i] = (struct map_slot){ key, value };
}

bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value)
{
	size_t i;

	if (!m->len)
		return false;
	i = slot_of(m, key);
	if (!m->used[i])
		return false;
	*ret_value = m->slots[i].value;
	return true;
}

/* Without tombstones: every follower that the hole would make unreachable moves back into it. */
bool map_del(struct map *m, uint64_t key)
{
	size_t hole, i;

	if (!m->len)
		return false;
	hole = slot_of(m, key);
	if (!m->used[hole])
		return false;
	for (i = (hole + 1) & (m->cap - 1); m->used[i]; i = (i + 1) & (m->cap - 1)) {
		size_t home = home_of(m, m->slots[i].key);

		if (((i - home) & (m->cap - 1)) >= ((i - hole) & (m->cap - 1))) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->used[hole] = 0;
	m->len--;
	return true;
}

bool map_next(const struct map *m, size_t *it, struct map_slot *ret_slot)
{
	for (; *it < m->cap; (*it)++) {
		if (m->used[*it]) {
			*ret_slot = m->slots[(*it)++];
			return true;
		}
	}
	return false;
}
