/* SPDX-License-Identifier: MIT */
/* report_kit.h - the records of one job, made by hand: three sheets, a few processes, and what
 * happened to them. */
#pragma once

#include <math.h>

#include "job_kit.h"
#include "model/history_record.h"

#define KIT_AT(s) (KIT_STARTED_NS + (uint64_t)((s)*1e9))

static inline struct figure kit_exact(uint64_t value)
{
	return (struct figure){ .value = value, .quality = QUALITY_EXACT };
}

static inline struct sheet_record kit_sheet(uint32_t num, const char *label, double from, double to)
{
	struct sheet_record s = { .processes = 10 * num, .max_cpu_ratio = 7.9 / num };

	s.s = (struct sheet){ .num = num,
		              .status = JOB_COMPLETED,
		              .started_ns = KIT_AT(from),
		              .ended_ns = KIT_AT(to),
		              .has_exit_code = true,
		              .pid = 2400 + (pid_t)num };
	snprintf(s.s.label, sizeof s.s.label, "%s", label);
	s.cpu_time_ns = kit_exact((uint64_t)((to - from) * 3e9));
	s.peak_rss_bytes = kit_exact(num * KIT_GIB);
	return s;
}

static inline struct process_record kit_process(pid_t pid, const char *name, const char *command,
                                                double from, double to)
{
	return (struct process_record){
		.id = { .pid = pid, .start_ticks = 1000 + (uint64_t)pid },
		.ppid = pid > 2417 ? 2417 : 2400,
		.uid = 1000,
		.sheet = 2,
		.comm = name,
		.command = command,
		.started_ns = KIT_AT(from),
		.ended_ns = to > 0 ? KIT_AT(to) : 0,
		.is_start_exact = true,
		.has_exit_code = to > 0,
		.cpu_time_ns = kit_exact((uint64_t)((to > from ? to - from : 1) * 2e9)),
		.peak_rss_bytes = kit_exact(KIT_GIB / 4 * (uint64_t)(to > 700 ? 19 : 1)),
		.read_bytes = kit_exact(1 << 20),
		.max_cpu_ratio = 3.98,
	};
}

static inline struct event_record kit_event(enum event_kind kind, double at, pid_t pid,
                                            const char *details)
{
	struct event_record e = { .kind = kind, .wall_ns = KIT_AT(at), .details = details };

	if (pid)
		e.process = (struct proc_id){ .pid = pid, .start_ticks = 1000 + (uint64_t)pid };
	return e;
}

static inline struct job_sum_record kit_sum(double at, uint64_t rss_bytes, double cpu_ratio)
{
	return (struct job_sum_record){
		.wall_ns = KIT_AT(at),
		.sum = { .procs = 7, .rss_bytes = rss_bytes, .cpu_ratio = cpu_ratio },
	};
}
