/* SPDX-License-Identifier: MIT */
/* verb_report.h - all there is to tell of one recorded job, gathered record by record; then shown for
 * identities or as JSON. It keeps sums and the few that matter, so it stays small for a job of a
 * million processes. Processes go in before events: events are told by their names. */
#pragma once

#include "base/json.h"
#include "base/map.h"
#include "model/history_record.h"
#include "view/canvas.h"

#define REPORT_COSTLY 8
#define REPORT_PROGRAMS_MAX 4096
#define REPORT_LIVES_MAX (1u << 20) /* whose names are kept for the events */
#define REPORT_NOTES_MAX 4096
#define REPORT_MARKS_MAX 1000
#define REPORT_SUMS_MAX 100000
#define REPORT_TEXT_MAX 200
#define REPORT_GPUS_MAX 64
#define REPORT_ANOMALIES_MAX 1000

/* All processes of one name. */
struct report_program {
	char name[COMM_LEN];
	uint64_t processes, failed, signalled;
	struct figure cpu_time_ns, peak_rss_bytes; /* the sum; the most of one. The worst quality */
};

/* One of those that took most. */
struct report_process {
	struct process_record p; /* its texts are below */
	char name[COMM_LEN];
	char command[COMMAND_MAX + 1];
	double cost; /* the larger of its shares of the job's CPU and memory */
};

/* Something worth knowing, maybe many times. */
struct report_note {
	uint64_t key; /* what is told together */
	uint64_t first_ns, count;
	enum ink ink;
	unsigned rank; /* lower ones are left out last */
	char what[24];
	char text[REPORT_TEXT_MAX];
};

/* A mark, or a phase that took a time. */
struct report_mark {
	uint64_t wall_ns, took_ns; /* took 0: a mark */
	uint32_t sheet;
	char name[64];
	char data[REPORT_TEXT_MAX];
};

/* `proctor sheet` and the like: it ends as its command did, and of the two only that failed. */
struct report_ours {
	struct proc_id id;
	bool failed, signalled; /* and is counted so */
};

struct report_gpu {
	struct gpu_record g; /* its name is below */
	char name[GPU_TEXT_MAX];
};

struct report_anomaly {
	struct anomaly_record a; /* its texts are below */
	char kind[32];
	char text[REPORT_TEXT_MAX];
};

struct report {
	struct job job;
	const char *host, *user; /* NULL: not known */
	unsigned cpus;           /* of the machine it ran on; 0: not known */
	uint64_t now_ns;
	VEC(struct sheet_record) sheets;
	VEC(struct report_program) programs;
	struct report_process costly[REPORT_COSTLY]; /* the most costly first */
	size_t n_costly;
	uint64_t processes, unique_pids, unended;
	char left[REPORT_TEXT_MAX]; /* names of the first that did not end */
	VEC(struct report_note) notes;
	VEC(struct report_mark) marks;
	uint64_t notes_dropped, marks_dropped;
	VEC(struct job_sum_record) sums;
	VEC(struct report_gpu) gpus;
	VEC(struct report_anomaly) anomalies;

	/* Inside. */
	struct map program_of; /* hash of the name → its index */
	struct map lives;      /* proc_key → index of its program */
	struct map pids;
	struct map note_of; /* key of a note → its index */
	struct map killed;  /* proc_key of those that got a SIGKILL */
	struct map ours;    /* pid → index of the latest such program */
	VEC(struct report_ours) programs_of_ours;
	struct map passed; /* proc_key of those of them that ended as their command did */
};

void report_add_sheet(struct report *r, const struct sheet_record *s);
void report_add_process(struct report *r, const struct process_record *p);
void report_add_event(struct report *r, const struct event_record *e);
/* Also a note of it. */
void report_add_anomaly(struct report *r, const struct anomaly_record *a);
void report_add_gpu(struct report *r, const struct gpu_record *g);
void report_add_sum(struct report *r, const struct job_sum_record *s);
/* When all is in: what the figures tell besides. */
void report_add_rest(struct report *r);
/* Whether it is the signal by which a program of ours, which was added, ended as its command did:
 * that one was sent it, and is told. */
bool report_is_echo(const struct report *r, const struct event_record *e);
/* The name of a process that was added; NULL: not known. */
const char *report_name_of(const struct report *r, struct proc_id id);
void report_done(struct report *r);

/* Whether anything is known but that the job was there. */
bool report_has_data(const struct report *r);
/* How long it took so far; by the wall clock where nobody measured. */
uint64_t report_took_ns(const struct report *r);
void report_view(const struct report *r, struct canvas *to);
void report_json(const struct report *r, struct json *j);
