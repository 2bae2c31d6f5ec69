/* SPDX-License-Identifier: MIT */
/* progress.h - how far long work is: a line on stderr, if that is a terminal, that is drawn after a moment and gone at the
 * end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what; /* what is counted, or done */
	uint64_t total, began_ns, next_ns;
	bool is_shown, is_drawn;
};

/* `total` is the last value of `done` below; 0: not known, the time is shown instead. */
void progress_begin(struct progress *p, bool is_wanted, uint64_t total, const char *what);
/* May be called often. `count` is shown before `what`; 0: none. */
void progress_step(struct progress *p, uint64_t done, uint64_t count);
/* Removes the line; without a progress_begin() nothing. */
void progress_end(struct progress *p);

struct store_options;
/* Shows `p` while the store is brought to this version's schema; end it after store_open(). */
void progress_of_store(struct progress *p, struct store_options *options);
