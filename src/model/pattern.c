/* SPDX-License-Identifier: MIT */
#include "model/pattern.h"

#include <string.h>

#define X(id, name) [PATTERN_##id] = name,
static const char *const names[] = { PATTERN_TYPES(X) };
#undef X

const char *pattern_type_name(enum pattern_type type)
{
	return names[type];
}

enum pattern_type pattern_type_find(const char *name)
{
	enum pattern_type i = 0;

	while (i < PATTERN_TYPE_COUNT && strcmp(names[i], name) != 0)
		i++;
	return i;
}

bool pattern_eq(const struct pattern *a, const struct pattern *b)
{
	return a->type == b->type && a->uid == b->uid && strcmp(a->job_type, b->job_type) == 0 &&
	       strcmp(a->subject, b->subject) == 0;
}
