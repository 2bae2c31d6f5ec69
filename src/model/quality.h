/* SPDX-License-Identifier: MIT */
/* quality.h - how far a figure can be trusted. Every figure of a job carries its quality to the
 * screen and into the store; docs/numbers.md tells which source gives which. */
#pragma once

#include <stdint.h>

/* X(id, name in JSON and SQL, name for identities). In the order of trust; stored by number. */
/* clang-format off */
#define QUALITIES(X)                            \
	X(MISSING, "missing", "missing")        \
	X(SAMPLED, "sampled", "sampled")        \
	X(AT_LEAST, "at_least", "at least")     \
	X(EXACT, "exact", "exact")
/* clang-format on */

#define X(id, ...) QUALITY_##id,
enum quality { QUALITIES(X) QUALITY_COUNT };
#undef X

/* A value counts only when its quality is not QUALITY_MISSING. */
struct figure {
	uint64_t value;
	enum quality quality;
};

const char *quality_key(enum quality quality);  /* "at_least" */
const char *quality_name(enum quality quality); /* "at least" */
