/* SPDX-License-Identifier: MIT */
#include "model/resource_summary.h"

#define MILLI_PER_TENTH 100

#define IS_MEAN false
#define IS_MAX true
#define X(id, key_, series_, kind_, label_, unit_)                                                 \
	[RESOURCE_KEY_##id] = { .key = (key_),                                                     \
		                .series = RESOURCE_##series_,                                      \
		                .is_max = IS_##kind_,                                              \
		                .label = (label_),                                                 \
		                .unit = (unit_) },
const struct resource_key_info resource_keys[] = { RESOURCE_KEYS(X) };
#undef X

void resource_summary_add(struct resource_summary *s, enum resource_series series, uint64_t milli)
{
	typeof(&s->series[0]) at = &s->series[series];

	/* A sum beyond 2^64 would make the mean wrong; real measurements stay far below. */
	if (__builtin_add_overflow(at->sum_milli, milli, &at->sum_milli)) {
		at->sum_milli -= milli;
		return;
	}
	at->n++;
	at->max_milli = MAX(at->max_milli, milli);
}

void resource_summary_fill(struct resource_summary *s, const struct resource_summary *from)
{
	for (size_t i = 0; i < RESOURCE_SERIES_COUNT; i++)
		if (!s->series[i].n)
			s->series[i] = from->series[i];
}

bool resource_summary_get(const struct resource_summary *s, enum resource_key key,
                          uint64_t *ret_tenths)
{
	const struct resource_key_info *info = &resource_keys[key];
	typeof(&s->series[0]) at = &s->series[info->series];
	uint64_t milli;

	if (!at->n)
		return false;
	milli = info->is_max ? at->max_milli : at->sum_milli / at->n;
	*ret_tenths = milli / MILLI_PER_TENTH + (milli % MILLI_PER_TENTH >= MILLI_PER_TENTH / 2);
	return true;
}

void resource_summary_put(struct json *j, const struct resource_summary *s)
{
	for (enum resource_key key = 0; key < RESOURCE_KEY_COUNT; key++) {
		uint64_t tenths;

		if (!resource_summary_get(s, key, &tenths))
			continue;
		json_put_fixed(j, resource_keys[key].key, tenths, 1);
	}
}
