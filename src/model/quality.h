/* SPDX-License-Identifier: MIT */
/* quality.h - how far a figure can be trusted. Every figure of a job carries its quality to the screen and into the
 * store; docs/numbers.md lists which source gives which. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* X(id, name in JSON and SQL, name for people). Stored by number: new ones are appended. */
/* clang-format off */
#define QUALITIES(X)                            \
	X(MISSING, "missing", "missing")        \
	X(SAMPLED, "sampled", "sampled")        \
	X(AT_LEAST, "at_least", "at least")     \
	X(EXACT, "exact", "exact")              \
	X(AT_MOST, "at_most", "at most")
/* clang-format on */

#define X(id, ...) QUALITY_##id,
enum quality { QUALITIES(X) QUALITY_COUNT };
#undef X

/* A value counts only when its quality is not QUALITY_MISSING. */
struct figure {
	uint64_t value;
	enum quality quality;
};

static inline bool figure_is_known(struct figure figure)
{
	return figure.quality != QUALITY_MISSING;
}

/* The quality of a figure that is made of two: exact only if both are, a bound if both are bounded
 * on the same side. */
enum quality quality_join(enum quality a, enum quality b);
const char *quality_key(enum quality quality);  /* "at_least" */
const char *quality_name(enum quality quality); /* "at least" */
