/* SPDX-License-Identifier: MIT */
/* suggestion.h - what somebody may have meant by a word that is not known: the closest of those offered.
 *
 *	struct suggestion near = { .word = word, .len = strlen(word) };
 *	suggestion_offer(&near, "snapshot"); …
 *	if (near.best)
 * … */
#pragma once

#include "base/defs.h"

struct suggestion {
	const char *word;
	size_t len;
	const char *best; /* NULL: nothing is close enough to be a slip */
	size_t distance;
};

void suggestion_offer(struct suggestion *near, const char *candidate);
