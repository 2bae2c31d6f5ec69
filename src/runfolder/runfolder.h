/* SPDX-License-Identifier: MIT */
/* runfolder.h - the run folder of one job (`proctor run --out DIR`; docs/run-folder.md):
 *
 *	run.jsonl        what happened, as it happens (run_log.h)
 *	cpu_metrics.csv  how busy the CPUs were, a line every interval
 *	hw_metrics.csv   the GPUs, likewise; only where there is one
 *	hw_dmon.csv      the same, in the form of nvidia-smi dmon
 *	job_metrics.csv  what the job used, a line each tick
 *	stdout.log       what it wrote, with --capture; stderr.log likewise
 *	summary.json     what is known so far, always whole
 *	report.txt       the report, at the end
 *
 *	runfolder_open(&options, &f, &err);
 *	runfolder_put(f, snap, &err);              // each snapshot, also those of events only
 *	runfolder_end(f, &job, report_text, &err); // once
 *	runfolder_close(f);                        // always; NULL is fine
 *
 * Every call writes to the disk and may wait for it. One thread at a time. No failure is final: the
 * next call tries again, and lost lines are counted in summary.json. */
#pragma once

#include "base/err.h"
#include "model/job.h"
#include "model/snapshot.h"

#define RUNFOLDER_INTERVAL_NS (2 * NS_PER_S)

struct runfolder;

struct runfolder_options {
	const char *path;   /* made if it is missing, parents too */
	struct job_key job; /* whose folder it is */
	/* Between two lines of the CSV files; 0: RUNFOLDER_INTERVAL_NS. Lines come at
	 * snapshots, so not more often than these. */
	uint64_t interval_ns;
};

/* What an earlier run left there under our names is moved into a folder of its own below, run.1,
 * run.2 and so on, the oldest first. Nothing is overwritten, and no symlink is followed.
 *   -EBUSY   another run is writing there
 *   -EINVAL  something of our names is not a regular file */
int runfolder_open(const struct runfolder_options *options, struct runfolder **ret, struct err *err)
	must_check;
/* Where an earlier run went, "DIR/run.1"; NULL: there was none. */
const char *runfolder_moved_to(const struct runfolder *f);

#define RUNFOLDER_LOGS 2
/* Creates stdout.log and stderr.log; the caller owns the fds. If they are one stream, they are two names
 * of one file, and the second fd is -1. */
int runfolder_create_logs(struct runfolder *f, bool is_one, int ret_fds[static RUNFOLDER_LOGS],
                          struct err *err) must_check;

/* Writes the CSV lines, the run log and the summary. The run log gets the job's marks, phases and sheets,
 * and what happened to its processes. All is tried; the first failure is returned. */
int runfolder_put(struct runfolder *f, const struct snapshot *snap, struct err *err) must_check;

/* The job as it ended (NULL: as the last snapshot showed it), and the report (NULL: none). The
 * summary is on the disk when this returns. */
int runfolder_end(struct runfolder *f, const struct job *job, const char *report, struct err *err)
	must_check;

void runfolder_close(struct runfolder *f);
DEFINE_CLEANUP(struct runfolder *, runfolder_close)
