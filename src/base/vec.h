/* SPDX-License-Identifier: MIT */
/* vec.h - typed growable arrays with a ceiling.
 *
 *	VEC(struct event) events = { 0 };
 *	struct event *e = vec_push(&events, EVENTS_MAX);
 *
 *	if (!e)
 *		dropped++;
 *	vec_done(&events); */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		size_t len, cap;                                                                   \
	}

/* A zeroed slot at the end, or NULL if there are `max` already. */
#define vec_push(v, max)                                                                           \
	((typeof((v)->at))vec_push_((void **)&(v)->at, &(v)->len, &(v)->cap, sizeof *(v)->at,      \
	                            (max)))

/* Makes room for n elements in total; false beyond `max`. */
#define vec_reserve(v, n, max)                                                                     \
	vec_reserve_((void **)&(v)->at, &(v)->cap, sizeof *(v)->at, (n), (max))

/* Copies `from` into `to`, reusing its memory. */
#define vec_copy(to, from)                                                                         \
	do {                                                                                       \
		(void)vec_reserve(to, (from)->len, SIZE_MAX);                                      \
		(to)->len = (from)->len;                                                           \
		if ((from)->len)                                                                   \
			memcpy((to)->at, (from)->at, (from)->len * sizeof *(to)->at);              \
	} while (0)

#define vec_reset(v) ((void)((v)->len = 0))
/* Empties it like vec_reset, and frees the memory if less than a quarter of it was used, so that a
 * spike is not kept forever. */
#define vec_relax(v)                                                                               \
	do {                                                                                       \
		if ((v)->cap > VEC_SMALL && (v)->len < (v)->cap / 4)                               \
			vec_done(v);                                                               \
		(v)->len = 0;                                                                      \
	} while (0)
#define VEC_SMALL 1024
/* Frees unused memory in the same way, but keeps the elements. They may move. */
#define vec_shrink(v) vec_shrink_((void **)&(v)->at, (v)->len, &(v)->cap, sizeof *(v)->at)

#define vec_done(v)                                                                                \
	do {                                                                                       \
		free((v)->at);                                                                     \
		(v)->at = NULL;                                                                    \
		(v)->len = (v)->cap = 0;                                                           \
	} while (0)

/* `it &&`: an empty vec has no array, and NULL + 0 is undefined in C. */
#define vec_each(v, it) for (typeof(&*(v)->at) it = (v)->at; it && it < (v)->at + (v)->len; it++)

static inline bool vec_reserve_(void **at, size_t *cap, size_t size, size_t n, size_t max)
{
	if (n > max)
		return false;
	if (n > *cap) {
		size_t want = MAX(*cap * 2, (size_t)16);

		want = MAX(MIN(want, max), n);
		*at = xreallocarray(*at, want, size);
		*cap = want;
	}
	return true;
}

static inline void vec_shrink_(void **at, size_t len, size_t *cap, size_t size)
{
	if (*cap <= VEC_SMALL || len >= *cap / 4)
		return;
	*cap = MAX(len * 2, (size_t)VEC_SMALL);
	*at = xreallocarray(*at, *cap, size);
}

static inline void *vec_push_(void **at, size_t *len, size_t *cap, size_t size, size_t max)
{
	void *slot;

	if (!vec_reserve_(at, cap, size, *len + 1, max))
		return NULL;
	slot = (char *)*at + (*len)++ * size;
	memset(slot, 0, size);
	return slot;
}
