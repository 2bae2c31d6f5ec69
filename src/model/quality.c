/* SPDX-License-Identifier: MIT */
#include "model/quality.h"

static const struct {
	const char *key, *name;
} qualities[] = {
#define X(id, key_, name_) [QUALITY_##id] = { (key_), (name_) },
	QUALITIES(X)
#undef X
};

const char *quality_key(enum quality quality)
{
	return qualities[quality].key;
}

const char *quality_name(enum quality quality)
{
	return qualities[quality].name;
}
