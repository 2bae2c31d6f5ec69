/* SPDX-License-Identifier: MIT */
/* cause.h - why a job died: what is stored of it with the job, and the rules by which that follows from
 * facts. Pure. job_is_oom() and job_outcome() use it, view/job_view.c has the words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/process.h"

#define CAUSE_GROUP_MAX 256

/* All are stored by number. X(id, name in JSON and SQL) */
/* clang-format off */
#define CAUSE_PROOFS(X)    \
	X(NONE, NULL)      \
	X(LIKELY, "likely") \
	X(PROVEN, "proven")  \
	X(SURVIVED, "survived")

#define CAUSE_SOURCES(X)                                                               \
	X(NONE, NULL)                                                                  \
	X(BPF, "bpf")           /* tracepoints of its recorder */                      \
	X(DAEMON, "daemon")     /* … of a daemon, which the recorder asked */          \
	X(CGROUP, "cgroup")     /* kills that a control group counted */               \
	X(VMSTAT, "vmstat")     /* kills that the machine counted */                   \
	X(LIMIT, "limit")       /* nothing counts kills here; a limit was reached */   \
	X(RECORDER, "recorder") /* it received the same signal, or forwarded it */

#define CAUSE_SENDERS(X)                                                \
	X(NONE, NULL)           /* not known */                         \
	X(PROCESS, "process")                                           \
	X(ITSELF, "itself")     /* the command signalled itself */      \
	X(KERNEL, "kernel")                                             \
	X(TERMINAL, "terminal") /* a key: Ctrl-C, Ctrl-\ */
/* clang-format on */

#define X(id, ...) CAUSE_PROOF_##id,
enum cause_proof { CAUSE_PROOFS(X) CAUSE_PROOF_COUNT };
#undef X
#define X(id, ...) CAUSE_SOURCE_##id,
enum cause_source { CAUSE_SOURCES(X) CAUSE_SOURCE_COUNT };
#undef X
#define X(id, ...) CAUSE_SENDER_##id,
enum cause_sender { CAUSE_SENDERS(X) CAUSE_SENDER_COUNT };
#undef X

struct cause {
	enum cause_proof oom; /* that memory ran out and a process was killed for it */
	enum cause_source oom_source;
	uint64_t oom_limit_bytes;        /* the limit that was reached; 0: not known */
	char oom_group[CAUSE_GROUP_MAX]; /* whose it is, as its hierarchy names it; "": not known,
	                                    or the job's own */
	enum cause_sender sender;        /* of the signal that the command died of */
	enum cause_source sender_source;
	pid_t sender_pid; /* of a process; 0: none */
	uint32_t sender_uid;
	char sender_comm[COMM_LEN]; /* "": it was gone */
};

/* Adds what another observer knows: that comes first. */
void cause_merge(struct cause *to, const struct cause *from);

#define CAUSE_GROUP_COLUMNS 40 /* of its path, where it is shown */
/* The last parts of a long path of a control group, which name the job; the result points into
 * `group`. */
const char *cause_shorten_group(const char *group);

/* A signal to the command. */
struct cause_signal {
	int number;
	pid_t pid; /* its sender; 0: the kernel, -1: not known */
	uint32_t uid;
	char comm[COMM_LEN];
	bool is_from_itself;
};

/* Kills for lack of memory that something counted about the time when a process was killed. */
struct cause_count {
	bool is_known; /* it counts, and can be read */
	uint64_t kills;
	bool is_shared; /* it counts those of others, too: some were there */
};

/* The answer of a daemon. */
struct cause_verdict {
	bool is_known; /* it saw the processes die */
	bool is_oom;
	bool has_kill; /* … and what killed the command */
	struct cause_signal kill;
};

struct cause_facts {
	int signal;               /* that the command died of; 0: none */
	uint64_t kills;           /* processes that died of SIGKILL, for no known reason */
	bool ends_are_seen;       /* every such process is among them */
	bool sees_ooms;           /* its recorder sees each kill for lack of memory */
	uint64_t ooms;            /* … and saw so many */
	struct cause_count own;   /* of the job's own control group */
	struct cause_count group; /* … of the one around it, which other processes share */
	struct cause_count machine;
	uint64_t
		after_kill_ns; /* how long its command went on after the last of these; 0: not known */
	bool is_full;          /* a control group reached its limit, */
	uint64_t limit_bytes;
	const char *limit_group; /* this one; NULL: not known */
	struct cause_verdict verdict;
	const struct cause_signal *sent; /* in their order */
	size_t n_sent;
	enum cause_source sent_source;
};

void cause_judge(const struct cause_facts *f, struct cause *ret);
/* NULL: nothing is known. */
const char *cause_proof_name(enum cause_proof proof);
const char *cause_source_name(enum cause_source source);
const char *cause_sender_name(enum cause_sender sender);
