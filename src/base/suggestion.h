/* SPDX-License-Identifier: MIT */
/* suggestion.h - "did you mean …?": the candidate closest to an unknown word.
 *
 *	struct suggestion s = { .word = word, .len = strlen(word) };
 *	suggestion_offer(&s, "snapshot");
 *	…
 *	if (s.best)
 *		… */
#pragma once

#include "base/defs.h"

struct suggestion {
	const char *word;
	size_t len;
	const char *best; /* NULL: no candidate is close enough to be a typo */
	size_t distance;
};

void suggestion_offer(struct suggestion *s, const char *candidate);
