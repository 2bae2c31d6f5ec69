/* SPDX-License-Identifier: MIT */
/* Anomalies of the whole machine. */
#include <math.h>

#include "analyze/rules.h"

#define PRESSURE_PART 10 /* available memory below one tenth */
#define THRASH_AFTER_NS (15 * NS_PER_S)

MACHINE_RULE(rule_memory_pressure)
{
	const struct host_readings *host = &in->snap->host;
	uint64_t total = readings_or(host, HOST_MEM_TOTAL, 0);
	uint64_t available = readings_or(host, HOST_MEM_AVAILABLE, total);

	if (available * PRESSURE_PART >= total)
		return false;
	f->value = (double)available;
	f->threshold = (double)total / PRESSURE_PART;
	f->base = (double)total;
	f->base_boot_ns = in->snap->boot_ns;
	f->severity = SEVERITY_CRITICAL;
	return true;
}

MACHINE_RULE(rule_swap_thrash)
{
	const struct host_readings *host = &in->snap->host;
	uint64_t since_ns = in->jobs->thrash_since_ns;

	if (!since_ns || in->snap->boot_ns - since_ns < THRASH_AFTER_NS)
		return false;
	f->value = in->snap->psi_mem_ratio;
	f->threshold = JOB_THRASH_RATIO;
	f->base = NAN;
	f->base_boot_ns = since_ns;
	f->other = (double)(readings_or(host, HOST_SWAP_TOTAL, 0) - readings_or(host, HOST_SWAP_FREE, 0));
	f->severity = SEVERITY_HIGH;
	return true;
}
