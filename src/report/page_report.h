/* SPDX-License-Identifier: MIT */
/* page_report.h - what a page shows of a job beside its report: curves, the band of earlier runs, and every
 * process. It is large where a report stays small, so it is gathered only for pages. */
#pragma once

#include "report/run_curves.h"

#define PAGE_PROCESSES_MAX 20000
#define PAGE_COMMAND_MAX 240

struct page_process {
	struct proc_id id;
	pid_t ppid;
	uint32_t sheet;
	uint64_t started_ns, ended_ns; /* wall clock; 0: not known, or it lives */
	bool has_exit_code, core_dumped;
	int exit_code, signal;
	struct figure cpu_time_ns, peak_rss_bytes;
	struct figure read_bytes, written_bytes; /* without those of its children */
	size_t name, command;                    /* in texts */
};

/* Initialised with zeros. */
struct page_report {
	struct report report;
	struct run_curve_set curves;
	struct run_band band;
	struct err band_error;              /* why it lacks earlier runs; code 0: it does not */
	VEC(struct page_process) processes; /* in the order of their start */
	uint64_t left_out;                  /* processes of the report beyond the ceiling */
	VEC(size_t) texts;                  /* where each text begins in `text`; none comes twice */
	struct buf text;

	/* Inside. */
	struct map text_of; /* hash → index in texts */
};

/* After its report was gathered: every process, and the curves. 0 or -errno. Without a history (NULL) there are no
 * processes. */
int page_report_gather(struct page_report *page, struct history *history, struct err *err)
	must_check;
/* After that: the band of earlier runs. If some cannot be read, it lacks them, and band_error has the reason. */
void page_report_add_band(struct page_report *page, struct history *history);
/* One process at a time, in the order of their starts, and the curves when all are in. */
int page_report_add_process(void *page, const struct process_record *row);
void page_report_end(struct page_report *page, uint64_t took_ns);
const char *page_report_text(const struct page_report *page, size_t text);
void page_report_done(struct page_report *page);
