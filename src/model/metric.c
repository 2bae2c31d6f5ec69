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

double metric_unit_scale(enum metric_unit unit)
{
	static const double scales[] = {
		[UNIT_COUNT] = 1,    [UNIT_BYTES] = 1, [UNIT_MIB] = 1 << 20, [UNIT_NS] = 1e9,
		[UNIT_MILLI] = 1000, [UNIT_PCT] = 10,  [UNIT_WH] = MJ_PER_WH
	};

	return scales[unit];
}

double metric_rate_per_s(uint64_t prev, uint64_t cur, uint64_t elapsed_ns)
{
	if (elapsed_ns == 0 || cur < prev)
		return NAN;
	return (double)(cur - prev) * 1e9 / (double)elapsed_ns;
}
