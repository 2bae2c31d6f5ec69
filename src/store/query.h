/* SPDX-License-Identifier: MIT */
/* query.h - the writer's statements, prepared once and kept. */
#pragma once

#include "store/db.h"

/* X(id, text); NULL: built from the metric tables in query.c. */
/* clang-format off */
#define QUERIES(X)                                                                                 \
	X(BEGIN, "BEGIN IMMEDIATE")                                                                \
	X(COMMIT, "COMMIT")                                                                        \
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
	X(MOVE_SNAPSHOT, "UPDATE snapshot SET kf = ?2, at = ?3, resolution = ?4 WHERE id = ?1")    \
	X(SET_FIRST, "UPDATE process SET first = ?2 WHERE id = ?1")                                \
	X(PUT_RANGE, NULL)                                                                         \
	X(PUT_PROCESS, "INSERT INTO process(id, recorder, pid, ppid, start_ticks, first, job_id,"  \
		       " sheet, started, uid, comm, command)"                                      \
		       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")               \
	X(SET_SEEN, "UPDATE process SET first = ?2, last = NULL WHERE id = ?1")                    \
	X(SET_COMMAND, "UPDATE process SET uid = ?2, comm = ?3, command = ?4 WHERE id = ?1")       \
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
		     " sender_uid, sender_comm, count, inferred, details)"                         \
		     " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")                 \
	X(PUT_JOB, "INSERT INTO job(job_id, type, recorder, status, started, ended, exit_code,"    \
		   " signal, total_sheets, last_completed_sheet, current_sheet)"                   \
		   " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"                         \
		   " ON CONFLICT(job_id) DO UPDATE SET type = ?2, recorder = ?3, status = ?4,"     \
		   " started = ?5, ended = ?6, exit_code = ?7, signal = ?8, total_sheets = ?9,"    \
		   " last_completed_sheet = ?10, current_sheet = ?11")                             \
	X(SUM_JOB, "UPDATE job SET (processes, cpu_time_us, peak_rss_kib) ="                       \
		   " (SELECT count(*), sum(cpu_time_us), max(coalesce(peak_rss_kib, max_rss_kib))" \
		   " FROM process p WHERE p.job_id = ?1) WHERE job_id = ?1")                       \
	X(PUT_SHEET, "INSERT INTO sheet(job, num, status, started)"                                \
		     " SELECT id, ?2, 0, ?3 FROM job WHERE job_id = ?1"                            \
		     " ON CONFLICT DO UPDATE SET ended = NULL, status = 0")                        \
	X(END_SHEET, "UPDATE sheet SET status = ?3, ended = ?4, (processes, cpu_time_us,"          \
		     " peak_rss_kib, max_cpu) = (SELECT count(*), sum(cpu_time_us),"               \
		     " max(coalesce(peak_rss_kib, max_rss_kib)), max(max_cpu) FROM process p"      \
		     " WHERE p.job_id = ?1 AND p.sheet = ?2)"                                      \
		     " WHERE num = ?2 AND job = (SELECT id FROM job WHERE job_id = ?1)")
/* clang-format on */

#define X(id, ...) Q_##id,
enum query { QUERIES(X) QUERY_COUNT };
#undef X

struct store;

/* The statement, ready to be bound: nothing is bound, it is not stepped. NULL when it cannot be
 * prepared. */
sqlite3_stmt *query_get(struct store *st, enum query q, struct err *err);
int query_run(struct store *st, enum query q, struct err *err) must_check; /* no bindings */
/* The single integer that it selects, or -errno. */
int64_t query_int(struct store *st, enum query q, struct err *err) must_check;
void query_done(struct store *st);
