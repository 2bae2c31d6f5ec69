/* SPDX-License-Identifier: MIT */
/* near.h - what somebody may have meant by a word that is not known: the closest of those offered.
 *
 *	struct near near = { .word = word, .len = strlen(word) };
 *	near_offer(&near, "snapshot"); …
 *	if (near.best)
 * … */
#pragma once

#include "base/defs.h"

struct near {
	const char *word;
	size_t len;
	const char *best; /* NULL: nothing is close enough to be a slip */
	size_t distance;
};

void near_offer(struct near *near, const char *candidate);
