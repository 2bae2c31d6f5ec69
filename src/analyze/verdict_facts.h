/* SPDX-License-Identifier: MIT */
/* verdict_facts.h - what is known about the end of a job, gathered from its records one at a time: the processes that
 * ended badly, the signals that were sent, what ran out. verdict_rules.h judges it. Bounded; texts are copied. */
#pragma once

#include "base/map.h"
#include "model/history_record.h"
#include "model/verdict.h"

#define VERDICT_DEATHS_MAX 65536
#define VERDICT_EVENTS_MAX 4096
#define VERDICT_ERRORS_MAX 256

/* A process that ended of a signal, or with a status other than 0. */
struct verdict_death {
	struct proc_id id;
	pid_t ppid;
	uint32_t sheet;
	char name[COMM_LEN]; /* "": it was gone before it could be read */
	bool has_exit_code, core_dumped;
	int exit_code, signal;
	uint64_t ended_ns;
	uint64_t execed_ns; /* when it became the program that failed; 0: not known */
};

/* The facts of an event about one process or the whole job. */
struct verdict_event {
	enum event_kind kind;
	uint64_t at_ns;
	struct proc_id id;
	int signal;
	bool has_sender; /* it is known, also when it is the kernel (pid 0) */
	pid_t sender_pid;
	uint32_t sender_uid;
	char sender[COMM_LEN];
	char name[24];
	char text[VERDICT_TEXT_MAX];
	int64_t count;
};

/* A system call that failed in a way that ends programs. */
struct verdict_error {
	char error[24];    /* "ENOSPC" */
	struct proc_id id; /* pid 0: of the whole job */
	uint64_t at_ns;
	uint64_t count;   /* 0: one of the last calls of a process */
	bool is_reported; /* … which then wrote to its standard error */
	bool is_optional; /* … which goes on without what it called for */
	char call[32];
	char text[VERDICT_TEXT_MAX];
};

/* Nothing happened in the job. */
struct verdict_stall {
	uint64_t began_ns, ended_ns; /* began 0: there was none; ended 0: it lasted */
	enum severity severity;
	struct proc_id id; /* a process that shows it */
	uint32_t sheet;
	char text[VERDICT_TEXT_MAX];
};

/* Initialised with zeros. */
struct verdict_facts {
	struct proc_id first; /* of its processes; pid 0: none is known */
	VEC(struct verdict_death) deaths;
	struct map death_of; /* proc_key → its index */
	VEC(struct verdict_event) events; /* in the order of time */
	VEC(struct verdict_error) errors;
	struct map members; /* pid → 1: of its processes */
	bool has_calls;     /* system calls were counted or kept: errors would be among them */
	bool is_other_boot; /* the machine was started anew since the job's recorder was, */
	uint64_t booted_ns; /* at this time */
	bool has_fd_anomaly;
	uint64_t fd_anomaly_ns;
	char fd_anomaly[VERDICT_TEXT_MAX];
	struct verdict_stall stall; /* the last one */
};

void verdict_facts_add_process(struct verdict_facts *f, const struct process_record *p);
void verdict_facts_add_event(struct verdict_facts *f, const struct event_record *e);
void verdict_facts_add_anomaly(struct verdict_facts *f, const struct anomaly_record *a);
void verdict_facts_add_call(struct verdict_facts *f, const struct last_call_record *c);
/* So many calls of the job failed so. */
void verdict_facts_add_error(struct verdict_facts *f, const char *call, const char *error,
                             uint64_t count);
void verdict_facts_done(struct verdict_facts *f);
