/* SPDX-License-Identifier: MIT */
/* recent_values.h - a value as it was over a window of time, at a bounded number of moments. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RECENT_VALUES 16

struct recent_value {
	uint64_t at_ns;
	double value;
};

struct recent_values {
	uint8_t first, len; /* a ring */
	struct recent_value at[RECENT_VALUES];
};

/* Forgets what is older than the window, and keeps the value unless the last one is too recent. */
void recent_values_add(struct recent_values *r, uint64_t window_ns, uint64_t at_ns, double value);
/* The earliest one. False: there is none. */
bool recent_values_earliest(const struct recent_values *r, struct recent_value *ret);
/* The growth per second up to `now`, if the earliest is at least that old and the second half of the time has at least
 * half of that growth: it still goes on. The smaller one of the two rates; 0: it does not, or that is not known yet.
 * What grew faster before, as while data were loaded, is left out; what was less before than earlier, as a heap that is
 * swept now and then, is not. */
double recent_values_growth(const struct recent_values *r, uint64_t least_ns,
                            struct recent_value now);
