/* SPDX-License-Identifier: MIT */
/* report.h - everything known about one recorded job, gathered record by record into plain structs, for
 * the verbs and the socket alike. It keeps sums and the few processes that matter, so it stays small for a
 * job of a million processes. Processes go in before events, which are shown with their names. */
#pragma once

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "analyze/verdict_facts.h"
#include "history/job_query.h"
#include "model/blocked_call.h"
#include "model/failure_owner.h"
#include "model/history_record.h"
#include "report/next_request.h"

#define REPORT_COSTLY 8
#define REPORT_LEFT 5
#define REPORT_LIVING 128
#define REPORT_USER_MAX 64
#define REPORT_PROGRAMS_MAX 4096
#define REPORT_PROCESSES_MAX ((size_t)1 << 20)
#define REPORT_LIVES_MAX (1u << 20) /* processes whose names are kept for the events */
#define REPORT_NOTES_MAX 4096
#define REPORT_MARKS_MAX 1000
#define REPORT_SUMS_MAX 100000
#define REPORT_TEXT_MAX 200
#define REPORT_GPUS_MAX 64
#define REPORT_ANOMALIES_MAX 1000
#define REPORT_CALLS_MAX 100000
#define REPORT_CALLERS_MAX 128
#define REPORT_SYSCALLS_MAX 16384
#define REPORT_FLIGHTS_MAX 1000

/* All processes of one name. */
struct report_program {
	char name[COMM_LEN];
	uint64_t processes, failed, signalled;
	struct figure cpu_time_ns, peak_rss_bytes; /* the sum; the most of one. The worst quality */
};

struct report_cost {
	uint64_t cpu_ns, bytes;
};

/* One of those that took most. */
struct report_process {
	struct process_record p; /* first: it is shown as one */
	char name[COMM_LEN];
	char command[COMMAND_MAX + 1];
	struct report_cost cost;
};

/* A sheet or a process whose system calls were counted. */
struct report_caller {
	uint32_t sheet; /* 0: a process */
	struct proc_id id;
	size_t at, len; /* in report.syscalls, most time first */
};

/* The kinds of notes; the words are in view/note_view.c. */
enum report_note_kind {
	NOTE_OOM,      /* pid was chosen by the OOM killer */
	NOTE_LIMIT,    /* the job met the limit `name` */
	NOTE_KILL,     /* SIGKILL was sent to it */
	NOTE_ANOMALY,  /* severity, and whether it lasts */
	NOTE_DEATH,    /* it died of the signal */
	NOTE_LOSS,     /* `amount` events were lost; 0: an unknown number */
	NOTE_GAP,      /* nothing was stored for `amount` ns */
	NOTE_CLOCK,    /* the wall clock was set by `amount` ns */
	NOTE_SUSPEND,  /* the machine slept for `amount` ns */
	NOTE_FAILURE,  /* it ended with the exit code */
	NOTE_LEFT,     /* `amount` processes were left behind */
	NOTE_SIGNAL,   /* the signal was sent to it */
	NOTE_PROBE,    /* of a probe: details */
	NOTE_GPU,      /* a GPU that it used: name has what happened, details which */
	NOTE_RECORDER, /* of the recorder: details */
};

/* Something worth knowing, maybe many times. */
struct report_note {
	uint64_t key; /* what is counted as one */
	uint64_t first_ns, count;
	enum report_note_kind kind;
	unsigned rank; /* lower ones are left out last */
	char name[24]; /* of the process, or of the limit; "": not known */
	pid_t pid;
	int exit_code, signal;
	bool core_dumped, lasts;
	enum severity severity;
	int64_t amount;
	char details[REPORT_TEXT_MAX];
};

/* A mark, or a phase that took a time. */
struct report_mark {
	uint64_t wall_ns, took_ns; /* took 0: a mark */
	uint32_t sheet;
	char name[64];
	char data[REPORT_TEXT_MAX];
};

struct report_gpu {
	struct gpu_record g; /* its name is below */
	char name[GPU_TEXT_MAX];
};

struct report_anomaly {
	struct anomaly_record a; /* its texts are below */
	bool is_of_job;          /* or of the machine */
	char kind[32];
	char text[REPORT_TEXT_MAX];
};

/* A process that failed, or still ran when its job did, and its last system calls. */
struct report_flight {
	struct last_call_record end; /* how it ended; its texts are not set */
	char name[COMM_LEN];
	size_t at, len;   /* in calls */
	bool has_threads; /* not all of them were made by the same thread */
};

struct report_call {
	struct last_call_record c; /* its texts are below */
	char call[SYSCALL_NAME_MAX], error[SYSCALL_ERROR_MAX];
	size_t text_at; /* in call_text */
};

struct report {
	struct job job;
	char host[HISTORY_HOST_MAX], user[REPORT_USER_MAX]; /* "": not known */
	uint32_t reader_uid; /* the user who reads it: an id without a user is that of one of their jobs */
	char parent_user[REPORT_USER_MAX]; /* of the job that it was started in; "": the reader */
	unsigned cpus; /* of the machine it ran on; 0: not known */
	uint64_t now_ns;
	char boot_id[37];   /* of this machine now; "": not known */
	uint64_t booted_ns; /* … and when it was started, wall clock */
	VEC(struct sheet_record) sheets;
	VEC(struct report_program) programs;
	struct report_process costly[REPORT_COSTLY]; /* the most costly first */
	size_t n_costly;
	uint64_t processes, unique_pids, unended;
	struct {
		char name[COMM_LEN];
		pid_t pid;
	} left[REPORT_LEFT];          /* the first that did not end */
	VEC(struct proc_id) living;   /* … more of them, of a job that runs */
	struct blocked_calls blocked; /* what these wait for; the caller adds it */
	VEC(struct report_note) notes;
	VEC(struct report_mark) marks;
	uint64_t notes_dropped, marks_dropped;
	VEC(struct job_sum_record) sums;
	VEC(struct report_gpu) gpus;
	VEC(struct report_anomaly) anomalies;
	VEC(struct syscall_record) syscalls; /* most time first; those of the job, then of `callers` */
	size_t n_syscalls;                   /* … the first of them: the job's */
	VEC(struct report_caller) callers;   /* sheets in their order, then the most costly processes */
	VEC(struct report_flight) flights;   /* in the order of their ends; then those that still ran */
	VEC(struct report_call) calls;
	struct buf call_text;
	uint64_t flights_left_out; /* processes whose calls were not kept */
	struct verdict_facts facts; /* for verdict_rules_judge() */
	struct next_request next;

	/* Inside. */
	struct map program_of; /* hash of the name → its index */
	struct map lives;      /* proc_key → index of its program */
	struct map pids;
	struct map note_of;       /* key of a note → its index */
	struct map signalled;     /* proc_key → bits of the signals that notes report */
	struct map kill_notes;    /* proc_key → index of the note of its SIGKILL */
	struct map death_notes;   /* … of its death of a signal */
	struct map child_signals; /* pid → the signal that a child of it died of last */
	struct failure_owner failures;
};

/* Facts about this machine now: the time, since when it runs, and the id of that boot ("": not
 * known). Before the report is gathered. */
void report_set_now(struct report *r, uint64_t now_ns, uint64_t up_ns, const char *boot_id);
/* All records of r->job. 0 or -errno. */
int report_gather(struct report *r, struct history *history, struct err *err) must_check;
/* Page by page; between pages `flush` may write. NULL: nothing to do. */
int report_each_event(struct history *history, struct job_key key, uint64_t kinds, size_t limit,
                      reader_event_fn fn, int (*flush)(void *self), void *self, struct err *err)
	must_check;

/* One record at a time, as the readers of history/job_query.h hand them out. Texts are copied. */
int report_add_sheet(void *report, const struct sheet_record *s);
int report_add_process(void *report, const struct process_record *p);
/* A process as reports show it: its figures as a part of the job, and the end of the command, which is the first. */
struct process_record report_process_of(const struct job *job, const struct process_record *row,
                                        bool is_first);
int report_add_event(void *report, const struct event_record *e);
int report_add_anomaly(void *report, const struct anomaly_record *a); /* also a note of it */
int report_add_gpu(void *report, const struct gpu_record *g);
/* Those of a process, or of a sheet (`id.pid` 0); NULL: they were not counted. */
const struct report_caller *report_find_caller(const struct report *r, uint32_t sheet,
                                               struct proc_id id);
int report_add_last_call(void *report, const struct last_call_record *c);
int report_add_sum(void *report, const struct job_sum_record *s);
/* When all is in: notes that follow from the figures, and the texts of records. The report must not move
 * afterwards. */
void report_end(struct report *r);
/* Whether it is the signal by which a program of ours, which was added, ended as its command did: the
 * command's own signal is reported instead. */
bool report_is_echo(const struct report *r, const struct event_record *e);
/* The name of a process that was added; NULL: not known. */
const char *report_name_of(const struct report *r, struct proc_id id);
void report_done(struct report *r);

/* The short form: the keys of the job resource profile. */
void report_profile(const struct report *r, struct job_profile *ret);
/* Whether the last calls of its processes were kept, should it fail. */
bool report_has_flight_recorder(const struct report *r);
/* Whether anything is known but that the job existed. */
bool report_has_data(const struct report *r);
