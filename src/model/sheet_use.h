/* SPDX-License-Identifier: MIT */
/* sheet_use.h - what a sheet used: the figures, and how they are joined from their parts. Pure.
 *
 * A sheet has one of two forms. `proctor sheet` waits for a command, and reports what wait4 returned:
 * the sheet is that command with its descendants. Any other process opens a sheet for what it does
 * itself: then its own part is the difference of its counters between begin and end, and the
 * processes that were born in the sheet are added. Processes that are older than the sheet and join it
 * count with the own part. */
#pragma once

#include "base/json.h"
#include "model/metric.h"

/* X(id, key in JSON and SQL, unit, help) */
/* clang-format off */
#define SHEET_FIGURES(X)                                                                    \
	X(CPU, "cpu_seconds", NS, "CPU time of its processes")                              \
	X(PEAK_RSS, "peak_rss_mb", MIB, "peak of its largest process")                      \
	X(READ, "read_bytes", BYTES, "read from storage")                                   \
	X(WRITTEN, "written_bytes", BYTES, "written to storage")                            \
	X(MINOR_FAULTS, "minor_faults", COUNT, "page faults served from memory")            \
	X(MAJOR_FAULTS, "major_faults", COUNT, "page faults that needed the disk")

/* Why it has no figures. X(id, reason); stored by number */
#define SHEET_LACKS(X)                                                                      \
	X(NOTHING, NULL)                                                                    \
	X(OVERLAP, "it overlaps another sheet of the same process")                         \
	X(UNREAD, "the counters of its process could not be read")
/* clang-format on */

#define X(id, ...) SHEET_FIGURE_##id,
enum sheet_figure { SHEET_FIGURES(X) SHEET_FIGURE_COUNT };
#undef X
#define X(id, ...) SHEET_LACKS_##id,
enum sheet_lack { SHEET_LACKS(X) SHEET_LACK_COUNT };
#undef X

extern const struct metric sheet_figures[SHEET_FIGURE_COUNT];

#define SHEET_USE_CPU_MIN 0.001 /* the least share of CPU that is stored */

struct sheet_use {
	struct figure figures[SHEET_FIGURE_COUNT];
	uint64_t processes;   /* of an own part: that opened it, and that joined */
	double max_cpu_ratio; /* of its busiest process, sampled, or the mean if that is more; NAN:
	                         not known */
	enum sheet_lack lack;
	uint64_t waited_cpu_ns; /* of an own part: of children that were born in it and waited for;
	                           0: none, or not known */
};

/* The figures with their qualities, as `usage` in calls. */
void sheet_use_json(struct json *j, const struct sheet_use *use);
/* NULL: nothing is lacking. */
const char *sheet_lack_reason(enum sheet_lack lack);
/* Another attempt of the same sheet: sums, and the larger peak. */
void sheet_use_add(struct sheet_use *to, const struct sheet_use *more);
/* The share of CPU over all that time, in which some were busier; NAN: not known, or nothing. */
double sheet_use_mean_cpu(struct figure cpu_ns, uint64_t took_ns);
/* `own`: of the process that opened it, or what `proctor sheet` reported (`is_wrapper`). `born`: of
 * the processes that were born in it. */
struct sheet_use sheet_use_join(const struct sheet_use *own, const struct sheet_use *born,
                                bool is_wrapper);
