/* SPDX-License-Identifier: MIT */
/* schema_format.h - the numbers that writers and readers of the database agree on: how
 * ids nest, codes, and the sums over process rows. store/store_schema.h makes the tables. */
#pragma once

#include "model/own_process.h"
#include "model/metric.h"
#include "sqlite/column.h"
#include "sqlite/schema_version.h"

/* The ids nest: a keyframe's id is a multiple of 2^20; a process's row in it is at keyframe +
 * slot, the slot being the low 20 bits of process.id; its change at the n-th snapshot of the
 * keyframe is at that << 12 | n. */
#define SCHEMA_SLOT_BITS 20
#define SCHEMA_AT_BITS 12
#define SCHEMA_SLOTS ((int64_t)1 << SCHEMA_SLOT_BITS)
#define SCHEMA_ATS ((int64_t)1 << SCHEMA_AT_BITS)

/* anomaly.id is recorder.id << 32 | the number of the episode. */
#define SCHEMA_EPISODE_BITS 32

/* Levels of pressure: the code in snapshot.pressure is the index. */
extern const char *const schema_pressure_names[];
enum { SCHEMA_PRESSURES = 5 };

/* Without those that are upper bounds: a parent has that much, or more. */
#define SCHEMA_PEAK "coalesce(p.peak_rss_kib, p.max_rss_kib)"
#define SCHEMA_OWN_PEAK "iif(p.final & 32, NULL, " SCHEMA_PEAK ")"
/* Sums over the processes of job ?1: exact when the final value of each came from the kernel. The
 * numbers are those of enum quality. `is_member` is the condition on a process `p`. */
#define SCHEMA_SUMS_OF(is_member)                                                                  \
	"SELECT p.sheet AS num, count(*) AS n, sum(p.cpu_time_us) AS cpu,"                         \
	" coalesce(max(" SCHEMA_OWN_PEAK "), max(" SCHEMA_PEAK ")) AS peak,"                       \
	" max(p.max_cpu) AS max_cpu,"                                                              \
	" iif(count(p.cpu_time_us), iif(min(coalesce(p.final, 0) & 1), 3, 2), NULL) AS cpu_q,"     \
	" CASE WHEN NOT count(" SCHEMA_PEAK ") THEN NULL WHEN NOT count(" SCHEMA_OWN_PEAK          \
	") THEN 4 WHEN NOT min(coalesce(p.final, 0) & 2) THEN 1 WHEN max(" SCHEMA_PEAK             \
	") > max(" SCHEMA_OWN_PEAK ") THEN 2 ELSE 3 END AS peak_q"                                 \
	" FROM process p WHERE " is_member
#define SCHEMA_SUMS SCHEMA_SUMS_OF("p.job = ?1" SCHEMA_ONE_A_LIFE("job"))
/* job.latest: of the living processes of a running job what they used since their rows were written, as
 * [[pid, start_ticks, max_cpu, …], …]. The jobs are those that `which` selects. */
#define SCHEMA_LATEST(which)                                                                       \
	"SELECT j.recorder AS recorder, json_extract(e.value, '$[0]') AS pid,"                     \
	" json_extract(e.value, '$[1]') AS start_ticks,"                                           \
	" json_extract(e.value, '$[2]') AS max_cpu, json_extract(e.value, '$[3]') AS max_rss_kib," \
	" json_extract(e.value, '$[4]') AS cpu_time_us,"                                           \
	" json_extract(e.value, '$[5]') AS peak_rss_kib,"                                          \
	" json_extract(e.value, '$[6]') AS read_bytes,"                                            \
	" json_extract(e.value, '$[7]') AS write_bytes"                                            \
	" FROM job j JOIN json_each(j.latest) e WHERE " which
#define SCHEMA_NO_LATEST                                                                           \
	"SELECT NULL AS recorder, NULL AS pid, NULL AS start_ticks, NULL AS max_cpu,"              \
	" NULL AS max_rss_kib, NULL AS cpu_time_us, NULL AS peak_rss_kib, NULL AS read_bytes,"     \
	" NULL AS write_bytes WHERE 0"
#define SCHEMA_JOIN_LATEST(latest)                                                                 \
	" LEFT JOIN (" latest ") v ON v.pid = p.pid AND v.start_ticks = p.start_ticks"             \
	" AND v.recorder = p.recorder AND p.last IS NULL"
#define SCHEMA_LATER(p, v) "coalesce(max(" p ", " v "), " p ", " v ")"
#define SCHEMA_LATER_CPU SCHEMA_LATER("p.cpu_time_us", "v.cpu_time_us")
/* The mark of one that lives may have been read before its memory grew. */
#define SCHEMA_LATER_MARK SCHEMA_LATER("p.peak_rss_kib", "v.peak_rss_kib")
#define SCHEMA_LATER_PEAK                                                                          \
	"coalesce(max(" SCHEMA_LATER_MARK ", v.max_rss_kib), " SCHEMA_LATER_MARK                   \
	", max(p.max_rss_kib, v.max_rss_kib), p.max_rss_kib, v.max_rss_kib)"
/* One row a life: the latest, if several recorders saw it. `job` is the column with its job. */
#define SCHEMA_ONE_A_LIFE(job)                                                                     \
	" AND (p.start_ticks = 0 OR NOT EXISTS (SELECT 1 FROM process q WHERE q.pid = p.pid"       \
	" AND q.start_ticks = p.start_ticks AND q.id > p.id AND q." job " = p." job "))"
/* A sheet is what its command used, without our own process around it and the helper of that. The figures of the job
 * have both. */
#define SCHEMA_NOT_OURS                                                                            \
	" AND coalesce(p.comm, '') NOT IN ('" OURS_NAME "', '" OURS_DETECTOR "')"
static_assert(QUALITY_SAMPLED == 1 && QUALITY_AT_LEAST == 2 && QUALITY_EXACT == 3 &&
                      QUALITY_AT_MOST == 4 && FINAL_CPU == 1 && FINAL_PEAK == 2 &&
                      FINAL_BOUND == 32,
              "the numbers above");

/* For jobs that ended: the time since their last sample, and the CPU time in it. Samples before
 * version 6 have none. */
#define SCHEMA_LAST_SAMPLES                                                                        \
	"SELECT j.id AS id, j.job_id AS job_id, j.uid AS uid, j.ended AS ended,"                   \
	" j.cpu_us AS cpu_us, coalesce(s.time, j.started) AS since,"                               \
	" coalesce(max(j.allowed_cpus * 1000, coalesce(m.cpu, 0)), 1e6) AS cores,"                 \
	" j.cpu_us - iif(m.snapshot, m.cpu_us, 0) AS rest_us,"                                     \
	" coalesce(max(m.read_bytes, j.read_bytes), m.read_bytes, j.read_bytes) AS read_bytes,"    \
	" coalesce(max(m.written_bytes, j.written_bytes), m.written_bytes, j.written_bytes)"       \
	" AS written_bytes FROM job j"                                                             \
	" LEFT JOIN job_sample m ON m.job = j.id AND m.snapshot = (SELECT max(k.snapshot)"         \
	" FROM job_sample k WHERE k.job = j.id AND k.snapshot BETWEEN j.first_snapshot"            \
	" AND coalesce(j.last_snapshot, 9223372036854775807))"                                     \
	" LEFT JOIN snapshot s ON s.id = m.snapshot WHERE j.ended IS NOT NULL"                     \
	" AND m.snapshot"

/* Whether an event `e` of a process is of the time when the job that the process was in had ended. */
#define SCHEMA_EVENT_IS_LATE(ended) "(e.sheet IS 0 AND e.time > coalesce(" ended ", 1e12))"
