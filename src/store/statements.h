/* SPDX-License-Identifier: MIT */
/* statements.h - the writer's statements, prepared once and kept. */
#pragma once

#include "sqlite/column.h"
#include "sqlite/db.h"
#include "sqlite/schema_format.h"

#define STATEMENT_MEAN(column) "CAST(round(avg(" column ")) AS INTEGER)"
/* X(id, text); NULL: built from the metric tables in statements.c. */
/* clang-format off */
#define QUERIES(X)                                                                                 \
	X(BEGIN, "BEGIN IMMEDIATE")                                                                \
	X(COMMIT, "COMMIT")                                                                        \
	X(END_RECORDER, "UPDATE recorder SET ended = ?2 WHERE id = ?1")                            \
	X(NEXT_SNAPSHOT, "SELECT coalesce(max(id), 0) + 1 FROM snapshot")                          \
	X(NEXT_KEYFRAME, "SELECT coalesce(max(id), 0) + 1048576 FROM keyframe")                    \
	X(NEXT_PROCESS, "SELECT coalesce(max(id), 0) + 1 FROM process")                            \
	X(PUT_KEYFRAME, "INSERT INTO keyframe(id, recorder, resolution, first, begins)"            \
			" VALUES(?1, ?2, ?3, ?4, ?5)")                                             \
	X(END_KEYFRAME, "UPDATE keyframe SET last = ?2, ends = ?3 WHERE id = ?1")                  \
	X(PUT_SNAPSHOT, "INSERT INTO snapshot(id, kf, at, time, recorder, boot_us, seq)"           \
			" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                     \
	X(PUT_HOST, NULL)                                                                          \
	X(PUT_CGROUP, NULL)                                                                        \
	X(PUT_BASE, NULL)                                                                          \
	X(PUT_CHANGE, NULL)                                                                        \
	X(SET_CHANGED, "UPDATE sample_base SET changed = ?2 WHERE id = ?1") \
	X(PUT_DETAIL, NULL)                                                                        \
	X(PUT_HOST_RANGE, NULL)                                                                    \
	X(SET_HOST_MEANS, NULL)                                                                    \
	X(SET_CGROUP_MEANS, NULL)                                                                  \
	X(MEAN_JOB_SAMPLES, "INSERT OR REPLACE INTO job_sample SELECT ?1, job, " STATEMENT_MEAN("procs") ", " \
			    STATEMENT_MEAN("rss_kib") ", " STATEMENT_MEAN("cpu") ", min(procs), max(procs),"  \
			    " min(rss_kib), max(rss_kib), min(cpu), max(cpu) FROM job_sample"      \
			    " WHERE snapshot IN (SELECT s.id FROM snapshot s WHERE s.id BETWEEN ?1" \
			    " AND ?2 AND s.kf = ?3) GROUP BY job")                                 \
	X(FIND_GPU_DEVICE, "SELECT id FROM gpu_device WHERE uuid = ?1 AND name = ?2")              \
	X(PUT_GPU_DEVICE, "INSERT INTO gpu_device(uuid, name) VALUES(?1, ?2) RETURNING id")        \
	X(PUT_GPU, NULL)                                                                           \
	X(PUT_GPU_USE, NULL)                                                                       \
	X(PUT_GPU_RANGE, NULL)                                                                     \
	X(MEAN_GPUS, NULL)                                                                         \
	X(MEAN_GPU_USES, NULL)                                                                     \
	X(MOVE_FIRST_SAMPLE, "UPDATE job SET first_snapshot = ?1 WHERE first_snapshot > ?1"        \
			     " AND id IN (SELECT job FROM job_sample WHERE snapshot = ?1)")        \
	X(MOVE_SNAPSHOT, "UPDATE snapshot SET kf = ?2, at = ?3, resolution = ?4 WHERE id = ?1")    \
	X(SET_FIRST, "UPDATE process SET first = ?2 WHERE id = ?1")                                \
	X(PUT_RANGE, NULL)                                                                         \
	X(PUT_PROCESS, "INSERT INTO process(id, recorder, pid, ppid, start_ticks, first, job_id,"  \
		       " sheet, started, uid, comm, command, final)"                               \
		       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)")          \
	X(SET_BORN, "UPDATE process SET ppid = ?2, started = ?3,"                                  \
		    " final = coalesce(final, 0) | ?4 WHERE id = ?1")                              \
	X(PARENT_STARTED, "SELECT max(started) FROM process WHERE pid = ?1 AND recorder = ?2"      \
			  " AND started < ?3")                                                     \
	X(SET_SEEN, "UPDATE process SET first = ?2, last = NULL WHERE id = ?1")                    \
	X(SET_COMMAND, "UPDATE process SET uid = ?2, comm = ?3, command = ?4 WHERE id = ?1")       \
	/* … unless an exec told a better one. */                                                  \
	X(SET_NAME, "UPDATE process SET uid = ?2, comm = ?3, command = ?4 WHERE id = ?1"           \
		    " AND (command IS NULL OR command = comm OR command LIKE '[%')")               \
	X(SET_JOB, "UPDATE process SET job_id = ?2, sheet = ?3 WHERE id = ?1")                     \
	X(SET_LAST, "UPDATE process SET last = ?2, ended = coalesce(ended, ?3) WHERE id = ?1")     \
	X(SET_EXIT, "UPDATE process SET ended = ?2, exit_code = ?3, signal = ?4, core_dumped = ?5" \
		    " WHERE id = ?1")                                                              \
	X(SET_TOTALS, NULL)                                                                        \
	X(FIND_PROCESS, "SELECT id FROM process WHERE pid = ?1 AND start_ticks = ?2"               \
			" AND recorder = ?3 ORDER BY id DESC LIMIT 1")                             \
	X(FIND_UNSEEN, "SELECT id FROM process WHERE pid = ?1 AND start_ticks = ?2"                \
		       " AND recorder = ?3 AND first IS NULL ORDER BY id DESC LIMIT 1")            \
	X(PUT_EVENT, "INSERT INTO event(time, kind, proc, recorder, exit_code, signal, sender_pid," \
		     " sender_uid, sender_comm, count, inferred, details, name, job, sheet)"       \
		     " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)")  \
	X(PUT_ANOMALY, "INSERT INTO anomaly(id, kind, severity, began, ended, pid, start_ticks,"   \
		       " job, sheet, value, peak, threshold, description)"                         \
		       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"           \
		       " ON CONFLICT DO UPDATE SET severity = ?3, ended = ?5, job = ?8,"           \
		       " sheet = ?9, peak = ?11, description = ?13")                               \
	X(SET_JOB_ROW, NULL)                                                                           \
	X(SET_FIGURES, NULL)                                                                       \
	X(FIND_JOB, "SELECT id FROM job WHERE job_id = ?1")                                        \
	X(ADD_JOB, "INSERT INTO job(job_id, type, recorder, status) VALUES(?1, '', ?2, 0)")        \
	X(PUT_JOB_SAMPLE, "INSERT INTO job_sample(snapshot, job, procs, rss_kib, cpu)"             \
			  " VALUES(?1, ?2, ?3, ?4, ?5)")                                           \
	X(SET_FIRST_SAMPLE, "UPDATE job SET first_snapshot = ?2 WHERE id = ?1"                     \
			    " AND first_snapshot IS NULL")                                         \
	X(SET_LAST_SAMPLE, "UPDATE job SET last_snapshot = ?2 WHERE id = ?1")                      \
	X(SUM_JOB, "UPDATE job SET"                                                                \
		   " processes = iif(processes_q, processes, s.n),"                                \
		   " processes_q = coalesce(processes_q, iif(s.n, 2, NULL)),"                       \
		   " cpu_us = iif(cpu_us_q, cpu_us, s.cpu),"                                       \
		   " cpu_us_q = coalesce(cpu_us_q, s.cpu_q),"                                      \
		   " peak_rss_kib = iif(peak_rss_kib_q, peak_rss_kib, s.peak),"                    \
		   " peak_rss_kib_q = coalesce(peak_rss_kib_q, s.peak_q)"                          \
		   " FROM (" SCHEMA_SUMS ") s WHERE job.id = ?1")                                   \
	X(PUT_SHEET, "INSERT INTO sheet(job, num, label, status, started, ended, exit_code,"       \
		     " signal, pid) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"                    \
		     " ON CONFLICT DO UPDATE SET label = ?3, status = ?4, started = ?5,"           \
		     " ended = ?6, exit_code = ?7, signal = ?8, pid = ?9")                         \
	X(SUM_SHEET, "UPDATE sheet SET" SCHEMA_SET_SUMS                                             \
		     " FROM (" SCHEMA_SHEET_SUMS " AND p.sheet = ?3) s WHERE job = ?1"             \
		     " AND sheet.num = ?3")                                                        \
	X(SUM_SHEETS, "UPDATE sheet SET" SCHEMA_SET_SUMS " FROM (" SCHEMA_SHEET_SUMS                 \
		      " AND p.sheet IS NOT NULL GROUP BY p.sheet) s WHERE job = ?1"                \
		      " AND sheet.num = s.num")
/* clang-format on */

#define X(id, ...) Q_##id,
enum statement { QUERIES(X) STATEMENT_COUNT };
#undef X

struct store;

/* The statement, ready to be bound: nothing is bound, it is not stepped. NULL when it cannot be
 * prepared. */
sqlite3_stmt *statement_get(struct store *st, enum statement q, struct err *err);
int statement_run(struct store *st, enum statement q, struct err *err) must_check; /* no bindings */
/* The single integer that it selects, or -errno. */
int64_t statement_int(struct store *st, enum statement q, struct err *err) must_check;
void statements_done(struct store *st);
