/* SPDX-License-Identifier: MIT */
#include "base/suggestion.h"

#include <string.h>

#define WORD_MAX 48

/* The number of insertions, deletions, replacements and swaps of neighbours between two words. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		last[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *spare = before;

		now[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			now[j] = MIN(MIN(last[j], now[j - 1]) + 1,
			             last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = MIN(now[j], before[j - 2] + 1);
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[b_len];
}

void suggestion_offer(struct suggestion *s, const char *candidate)
{
	size_t n = strlen(candidate), d;

	if (!s->len || s->len > WORD_MAX || n > WORD_MAX)
		return;
	d = distance(s->word, s->len, candidate, n);
	if (s->len >= 3 && s->len < n && memcmp(s->word, candidate, s->len) == 0)
		d = 1; /* a prefix counts as a single typo */
	if (d > (s->len + 2) / 3 || (s->best && d >= s->distance))
		return;
	s->best = candidate;
	s->distance = d;
}
