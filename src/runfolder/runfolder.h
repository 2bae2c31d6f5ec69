/* SPDX-License-Identifier: MIT */
/* runfolder.h - the run folder of one job (`proctor run --out DIR`; docs/run-folder.md):
 *
 *	run.jsonl        what happened, as it happens (run_log.h)
 *	cpu_metrics.csv  how busy the CPUs were, a line every interval
 *	hw_metrics.csv   the GPUs, likewise; only where there is one
 *	hw_dmon.csv      the same, in the form of nvidia-smi dmon
 *	summary.json     what is known so far, always whole
 *	report.txt       the report, at the end
 *
 *	runfolder_open(&options, &f, &err);
 *	runfolder_put(f, snap, &err);              // each snapshot, also those of events only
 *	runfolder_end(f, &job, report_text, &err); // once
 *	runfolder_close(f);                        // always; NULL is fine
 *
 * Every call writes to the disk and may wait for it. One thread at a time. No failure is final: the
 * next call tries again, and what was lost is counted and told in summary.json. */
#pragma once

#include "base/err.h"
#include "model/job.h"
#include "model/snapshot.h"

#define RUNFOLDER_INTERVAL_NS (2 * NS_PER_S)

struct runfolder;

struct runfolder_options {
	const char *path;   /* made if it is missing, parents too */
	const char *job_id; /* whose folder it is: the job is looked up in each snapshot */
	/* Between two lines of the CSV files; 0: RUNFOLDER_INTERVAL_NS. Give the one that was asked
	 * for with --interval. Lines come at snapshots, so not more often than these. */
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

/* The CSV lines, the job's marks, phases and sheets and what befell its processes into the run log,
 * and the summary anew. All is tried; the first failure is told. Marks and phases are taken from
 * the snapshot's events: do not write them with the two functions below as well. */
int runfolder_put(struct runfolder *f, const struct snapshot *snap, struct err *err) must_check;

/* For what is in no snapshot. `data`: the text of a JSON object, or NULL. */
int runfolder_event(struct runfolder *f, uint64_t wall_ns, const char *event, const char *data,
                    struct err *err) must_check;
int runfolder_phase(struct runfolder *f, uint64_t wall_ns, const char *name, uint64_t took_ns,
                    const char *data, struct err *err) must_check;

/* jax_peak_bytes_mb: the program says it of itself. The largest one stays. A mark or phase whose
 * data has a member of that name is understood too. */
void runfolder_set_jax_peak(struct runfolder *f, uint64_t bytes);
/* Why there are no GPU figures, for the summary; "no GPU here" unless this is called. A copy is
 * kept. */
void runfolder_set_gpu_absence(struct runfolder *f, const char *why);

/* The job as it ended (NULL: as the last snapshot showed it), and the report (NULL: none). The
 * summary is on the disk when this returns. */
int runfolder_end(struct runfolder *f, const struct job *job, const char *report, struct err *err)
	must_check;

uint64_t runfolder_lines_lost(const struct runfolder *f); /* a full disk refused them */
void runfolder_close(struct runfolder *f);
DEFINE_CLEANUP(struct runfolder *, runfolder_close)
