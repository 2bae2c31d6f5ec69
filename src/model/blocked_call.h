/* SPDX-License-Identifier: MIT */
/* blocked_call.h - what a process waits for: the system call that it is in, and on what. */
#pragma once

#include "model/field.h"
#include "model/process.h"
#include "model/syscall.h"

#define BLOCKED_TEXT_MAX 256

/* X(id, key): what a call waits for */
#define BLOCKED_THINGS(X)                                                                          \
	X(UNKNOWN, NULL)                                                                           \
	X(FILE, "file") /* text: its path */                                                       \
	X(PIPE, "pipe") /* peer: the process at the other end */                                   \
	X(SOCKET,                                                                                  \
	  "socket")       /* text: the address of the other side, or its own; peer: its process */ \
	X(CHILD, "child") /* peer: the child that it waits for */                                  \
	X(LOCK, "lock")   /* a futex: text is its address; peer: a process that shares it, or    \
	                     * holds it: then owner is the thread */ \
	X(TIMER, "timer")                                                                          \
	X(FILES, "files") /* the first of several that is ready; text: some of them */

#define X(id, ...) BLOCKED_ON_##id,
enum blocked_thing { BLOCKED_THINGS(X) BLOCKED_THING_COUNT };
#undef X

struct blocked_call {
	struct proc_id id;
	char name[COMM_LEN];
	char state;                  /* S, D, T … */
	uint32_t threads;            /* that are in the same call, on the same */
	uint32_t others;             /* threads that wait for something else */
	char call[SYSCALL_NAME_MAX]; /* "": not readable */
	char wchan[64];              /* the kernel's function in which it sleeps; "": not known */
	enum blocked_thing thing;
	int fd;                      /* -1: none */
	bool writes;                 /* it waits until it can write, not read */
	bool is_own_address;         /* of the socket: it is not connected */
	char text[BLOCKED_TEXT_MAX]; /* "": none */
	pid_t peer;                  /* 0: not known */
	char peer_name[COMM_LEN];
	pid_t owner;       /* the thread that holds the lock; 0: not known */
	uint32_t sharers;  /* other processes of the job that have the lock's memory mapped */
	uint32_t files;    /* that it waits for; 0: not known */
	uint64_t since_ns; /* how long it has not run, at least; 0: not known */
	uint64_t ran_ns;   /* the same as before: it has not run since then; 0: not known */
	bool may_wake; /* a thread waits for a time, a signal, a connection, a terminal or several files: it may resume by itself */
};

struct blocked_calls {
	VEC(struct blocked_call) list;
};

extern const struct field_table blocked_call_fields;
/* Before the address of a socket: "to" that of the other side, "at" the one that it listens at. */
const char *blocked_call_socket_word(const struct blocked_call *b);
/* "waits in read on a pipe from sort 4711 (S, pipe_read)" */
void blocked_call_describe(const struct blocked_call *b, struct buf *to);
