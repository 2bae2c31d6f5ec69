/* SPDX-License-Identifier: MIT */
/* job_kit.h - jobs made by hand, for tests of how they are shown. */
#pragma once

#include <stdio.h>

#include "model/job.h"

#define KIT_STARTED_NS (UINT64_C(1700000000) * NS_PER_S)
#define KIT_GIB (UINT64_C(1) << 30)

static inline void kit_figure(struct job *job, enum job_figure id, uint64_t value,
                              enum quality quality)
{
	job->figures[id] = (struct figure){ .value = value, .quality = quality };
}

/* A run that went well, every figure of it exact. */
static inline struct job kit_good_job(void)
{
	struct job job = {
		.id = "train.py-7f3a",
		.type = "train.py",
		.command = "python train.py --epochs 3",
		.cwd = "/home/ana/model",
		.uid = 1000,
		.tags = "{\"team\":\"vision\"}",
		.tier = "BPF tracepoints, cgroup v2",
		.interval_ns = NS_PER_S,
		.status = JOB_COMPLETED,
		.started_ns = KIT_STARTED_NS,
		.ended_ns = KIT_STARTED_NS + 761 * NS_PER_S,
		.took_ns = 761 * NS_PER_S,
		.has_exit_code = true,
		.total_sheets = 3,
		.last_completed_sheet = 3,
		.completed_sheets = 3,
		.hungriest_pid = 2417,
		.hungriest = "python",
	};

	kit_figure(&job, JOB_FIGURE_CPU, 2595 * NS_PER_S, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_CPU_USER, 2472 * NS_PER_S, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_CPU_SYSTEM, 123 * NS_PER_S, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PEAK_RSS, KIT_GIB * 48 / 10, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PEAK_TOTAL, KIT_GIB * 61 / 10, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PEAK_AT, 560 * NS_PER_S, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_READ, KIT_GIB * 124 / 10, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_WRITTEN, KIT_GIB * 11 / 10, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PROCESSES, 214, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_EXITED, 214, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_FAILED, 0, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_SIGNALLED, 0, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_LEAKED, 0, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_OOM_KILLS, 0, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_SELF_CPU, 450 * NS_PER_MS, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_SELF_RSS, UINT64_C(8900) << 10, QUALITY_EXACT);
	return job;
}

/* One that met its own memory limit. */
static inline struct job kit_oom_job(void)
{
	struct job job = kit_good_job();

	snprintf(job.id, sizeof job.id, "align-91c2");
	snprintf(job.type, sizeof job.type, "align");
	snprintf(job.hungriest, sizeof job.hungriest, "bwa-mem");
	job.status = JOB_FAILED;
	job.took_ns = 187 * NS_PER_S;
	job.ended_ns = job.started_ns + job.took_ns;
	job.has_exit_code = false;
	job.signal = 9;
	job.limit[JOB_LIMIT_MEM] = 8 * KIT_GIB;
	job.limits_hit = 1u << JOB_LIMIT_MEM;
	job.total_sheets = 4;
	job.last_completed_sheet = job.completed_sheets = 1;
	kit_figure(&job, JOB_FIGURE_CPU, 1120 * NS_PER_S, QUALITY_AT_LEAST);
	kit_figure(&job, JOB_FIGURE_CPU_USER, 1100 * NS_PER_S, QUALITY_AT_LEAST);
	kit_figure(&job, JOB_FIGURE_CPU_SYSTEM, 20 * NS_PER_S, QUALITY_AT_LEAST);
	kit_figure(&job, JOB_FIGURE_PEAK_TOTAL, 8 * KIT_GIB - (1 << 20), QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_PEAK_RSS, KIT_GIB * 76 / 10, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PEAK_AT, 186 * NS_PER_S, QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_PEAK_CHARGED, 8 * KIT_GIB, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_READ, 0, QUALITY_MISSING);
	kit_figure(&job, JOB_FIGURE_WRITTEN, 0, QUALITY_MISSING);
	kit_figure(&job, JOB_FIGURE_PROCESSES, 61, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_EXITED, 60, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_FAILED, 2, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_SIGNALLED, 1, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_LEAKED, 1, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_OOM_KILLS, 1, QUALITY_EXACT);
	return job;
}
