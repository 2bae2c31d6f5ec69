/* SPDX-License-Identifier: MIT */
/* flight.h - the flight recorder: the last system calls of a process that failed, or of a job that did, and how they
 * read. */
#pragma once

#include "model/syscall_signature.h"

#define FLIGHT_TIER "flight recorder" /* in the tier of a job that has one */
#define FLIGHT_CALLS_DEFAULT 64
#define FLIGHT_CALLS_MIN 16
#define FLIGHT_CALLS_MAX 128
#define FLIGHT_TEXT_MAX 152
#define FLIGHT_THREADS_MAX 1024 /* of a process, whose unfinished calls are shown */

/* One call as the kernel saw it. */
struct flight_call {
	uint64_t entered_ns, left_ns; /* boot clock; left 0: it did not return */
	int64_t result;               /* negative: an error */
	uint64_t args[SYSCALL_ARGS];
	syscall_id call;
	pid_t tid;
	bool path_is_unread, more_is_unread; /* no bytes could be read where the path should be */
	bool path_is_cut, more_is_cut;       /* the rest did not fit */
	bool name_is_cut;                    /* of the file, at its beginning */
	bool text_is_address;                /* of a socket: the bytes of a struct sockaddr */
	uint8_t file_type;                   /* S_IFMT >> 12 of its mode; 0: not known */
	uint64_t file_inode;
	/* The path, or the name of the file if its type is known; then the second path. */
	uint8_t text_len, more_len;
	char text[FLIGHT_TEXT_MAX];
};

/* Some calls of a thread, as a sample has them. */
struct flight_piece {
	struct proc_id id;
	int wait_status;  /* of the process; 0: it still ran */
	bool has_lost;    /* some calls of the thread are missing */
	uint32_t keep;    /* so many are kept of each thread */
	uint32_t at, len; /* in the sample's flight_calls */
};

/* In a snapshot: the calls of a process, as flight_json() wrote them. */
struct flight {
	int32_t job; /* index in the snapshot's jobs */
	struct proc_id id;
	struct text_ref calls; /* empty: others are kept instead */
};

/* The calls of all threads of a process, in the order in which they were made; of these the last `keep`, and before
 * them those that others were in at the end. Returns how many are left. */
size_t flight_keep(struct flight_call *calls, size_t n, size_t keep);

/* `openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3` for each of them, as
 *	[[time in ns, ns it took or null, thread, name, result or null, error or null, text], …]
 * Where others are missing, the first row has only a time and a text.
 * They were made in that order. `wall_ns` is the wall clock at 0 of the boot clock. */
void flight_json(struct json *j, const struct flight_call *calls, size_t n, bool has_lost,
                 uint64_t wall_ns);
