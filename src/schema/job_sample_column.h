/* SPDX-License-Identifier: MIT */
/* job_sample_column.h - the columns of the table job_sample, in their order: a line each. Inserts, means
 * of a minute, the view job_samples and what reads samples are walks over this list.
 *
 *	COLUMN(column, type, member, unit, kind, key, last)
 *		the member of struct job_sum, as in a field table;
 *		kind  a minute has the mean of a GAUGE, and the last value of a COUNTER
 *		key   in the view and in job_sum_fields
 *		last  in the row from the last sample to the end of the job: SQL over
 *		      SCHEMA_LAST_SAMPLES, in the unit that is stored
 *	EXTREME(column, minute, stored, unit, key)
 *		what only a minute has; `stored` is the SQL of the view */
#pragma once

#include "model/snapshot.h"
#include "sqlite/record_column.h"

/* clang-format off */
#define JOB_SAMPLE_COLUMNS(COLUMN, EXTREME)                                                                  \
	COLUMN("procs", NUMBER, procs, COUNT, GAUGE, "processes", "0")                                       \
	COLUMN("rss_kib", NUMBER, rss_bytes, MIB, GAUGE, "rss_mb", "NULL")                                   \
	COLUMN("cpu", RATIO, cpu_ratio, PCT, GAUGE, "cpu_percent",                                           \
	       "min(max(rest_us, 0)/1e3/(ended - since), cores)")                                            \
	EXTREME("procs_min", "min(procs)", "m.procs_min", COUNT, "processes_min")                            \
	EXTREME("procs_max", "max(procs)", "m.procs_max", COUNT, "processes_max")                            \
	EXTREME("rss_kib_min", "min(rss_kib)", "m.rss_kib_min", MIB, "rss_mb_min")                           \
	EXTREME("rss_kib_max", "max(rss_kib)", "m.rss_kib_max", MIB, "rss_mb_max")                           \
	EXTREME("cpu_min", "min(cpu)", "m.cpu_min", PCT, "cpu_percent_min")                                  \
	EXTREME("cpu_max", "max(cpu)", "m.cpu_max", PCT, "cpu_percent_max")                                  \
	COLUMN("used_kib", FIGURE, used, MIB, GAUGE, "used_mb", "NULL")                                      \
	EXTREME("used_kib_max", "max(used_kib)", "coalesce(m.used_kib_max, m.used_kib)", MIB, "used_mb_max") \
	COLUMN("charged_kib", FIGURE, charged, MIB, GAUGE, "charged_mb", "NULL")                             \
	COLUMN("cpu_us", FIGURE, cpu_ns, NS, COUNTER, "cpu_seconds", "cpu_us")                               \
	COLUMN("gpu_memory_kib", FIGURE, gpu_memory, MIB, GAUGE, "gpu_memory_mb", "NULL")                    \
	COLUMN("gpu_sm", FIGURE, gpu_sm, PCT, GAUGE, "gpu_sm_pct", "NULL")                                   \
	COLUMN("gpu_device_memory_kib", FIGURE, gpu_device_memory, MIB, GAUGE, "gpu_device_mb", "NULL")      \
	COLUMN("gpu_util", FIGURE, gpu_util, PCT, GAUGE, "gpu_util_pct", "NULL")                             \
	COLUMN("read_bytes", FIGURE, read, BYTES, COUNTER, "read_bytes", "read_bytes")                       \
	COLUMN("written_bytes", FIGURE, written, BYTES, COUNTER, "written_bytes", "written_bytes")           \
	COLUMN("gpu_energy_mj", FIGURE, gpu_energy, WH, COUNTER, "gpu_energy_wh", "NULL")
/* clang-format on */

/* Those of struct job_sum. */
extern const struct field_table job_sample_columns;
