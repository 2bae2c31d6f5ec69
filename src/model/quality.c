/* SPDX-License-Identifier: MIT */
#include "model/quality.h"

static const struct {
	const char *key, *name;
} qualities[] = {
#define X(id, key_, name_) [QUALITY_##id] = { (key_), (name_) },
	QUALITIES(X)
#undef X
};

enum quality quality_join(enum quality a, enum quality b)
{
	if (a == QUALITY_MISSING || b == QUALITY_MISSING)
		return QUALITY_MISSING;
	if (a == QUALITY_EXACT || b == QUALITY_EXACT)
		return a == QUALITY_EXACT ? b : a;
	return a == b ? a : QUALITY_SAMPLED;
}

const char *quality_key(enum quality quality)
{
	return qualities[quality].key;
}

const char *quality_name(enum quality quality)
{
	return qualities[quality].name;
}
