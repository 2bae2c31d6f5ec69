/* SPDX-License-Identifier: MIT */
#include "model/anomaly.h"

#include <assert.h>
#include <string.h>

const struct anomaly_info anomaly_kinds[] = {
#define X(id, key_, name_, scale_, less_)                                                          \
	[ANOMALY_##id] = {                                                                         \
		.key = (key_), .name = (name_), .scale = (scale_), .less_is_worse = (less_)        \
	},
	ANOMALY_KINDS(X)
#undef X
};

static const char *const severities[] = {
#define X(id, name) [SEVERITY_##id] = (name),
	SEVERITIES(X)
#undef X
};

const char *severity_name(enum severity severity)
{
	return severities[severity];
}

double anomaly_shown(enum anomaly_kind kind, double value)
{
	return value * anomaly_kinds[kind].scale;
}

/* ---- words ----------------------------------------------------------------------------------- */

static void put_amount(struct buf *to, double amount)
{
	buf_printf(to, amount >= 99.95 ? "%.0f" : "%.1f", amount);
}

/* Two amounts in the unit that suits the larger, which is written once. */
static void put_bytes(struct buf *to, double a, const char *between, double b)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB" };
	double scale = 1024, larger = a > b ? a : b;
	size_t unit = 0;

	while (unit + 1 < ARRAY_LEN(units) && larger / scale >= 999.5) {
		scale *= 1024;
		unit++;
	}
	put_amount(to, a / scale);
	buf_puts(to, between);
	put_amount(to, b / scale);
	buf_printf(to, " %s", units[unit]);
}

static void put_time(struct buf *to, double ns)
{
	double s = ns / 1e9;

	if (s < 9.95)
		buf_printf(to, "%.1f s", s);
	else if (s < 119.5)
		buf_printf(to, "%.0f s", s);
	else
		buf_printf(to, "%.0f min", s / 60);
}

static double between_ns(uint64_t from, uint64_t to)
{
	return to > from ? (double)(to - from) : 0;
}

static void put_memory_spike(const struct anomaly *a, struct buf *to)
{
	put_bytes(to, a->base, " → ", a->peak);
	buf_puts(to, " in ");
	put_time(to, between_ns(a->base_boot_ns, a->peak_boot_ns));
}

static void put_runaway_process(const struct anomaly *a, struct buf *to)
{
	buf_printf(to, "at %.0f %% of a core for ", a->peak * 100);
	put_time(to, between_ns(a->base_boot_ns, a->seen_boot_ns));
	buf_puts(to, ", its parent is gone");
}

static void put_zombie(const struct anomaly *a, struct buf *to)
{
	buf_puts(to, "not reaped for ");
	put_time(to, a->peak);
}

static void put_fd_exhaustion(const struct anomaly *a, struct buf *to)
{
	buf_printf(to, "%.0f of the %.0f it may open", a->peak, a->base);
}

static void put_memory_pressure(const struct anomaly *a, struct buf *to)
{
	put_bytes(to, a->peak, " of ", a->base);
	buf_puts(to, " available");
}

void anomaly_describe(const struct anomaly *a, struct buf *to)
{
	static void (*const put[])(const struct anomaly *a, struct buf *to) = {
		[ANOMALY_MEMORY_SPIKE] = put_memory_spike,
		[ANOMALY_RUNAWAY_PROCESS] = put_runaway_process,
		[ANOMALY_ZOMBIE] = put_zombie,
		[ANOMALY_FD_EXHAUSTION] = put_fd_exhaustion,
		[ANOMALY_MEMORY_PRESSURE] = put_memory_pressure,
	};
	static_assert(ARRAY_LEN(put) == ANOMALY_KIND_COUNT, "one a kind");

	buf_printf(to, "%s: ", anomaly_kinds[a->kind].name);
	if (a->id.pid)
		buf_printf(to, "%.*s %d ", (int)strnlen(a->comm, COMM_LEN), a->comm, a->id.pid);
	put[a->kind](a, to);
}
