/* SPDX-License-Identifier: MIT */
#include "model/metric.h"

#include <math.h>

#define X(id, key_, unit_, kind_, need_, help_)                                                    \
	{ .key = (key_),                                                                           \
	  .unit = UNIT_##unit_,                                                                    \
	  .kind = METRIC_##kind_,                                                                  \
	  .need = METRIC_##need_,                                                                  \
	  .help = (help_) },
const struct metric host_metrics[] = { HOST_METRICS(X) };
const struct metric proc_metrics[] = { PROC_METRICS(X) };
const struct metric cgroup_metrics[] = { CGROUP_METRICS(X) };
const struct metric gpu_metrics[] = { GPU_METRICS(X) };
const struct metric gpu_use_metrics[] = { GPU_USE_METRICS(X) };
#undef X

double rate_per_s(uint64_t prev, uint64_t cur, uint64_t elapsed_ns)
{
	if (elapsed_ns == 0 || cur < prev)
		return NAN;
	return (double)(cur - prev) * 1e9 / (double)elapsed_ns;
}

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
