/* SPDX-License-Identifier: MIT */
/* proctor.h - speak to proctor from a program of your own.
 *
 * A program that runs under `proctor run` reaches the recorder of its job; any other reaches the
 * daemon, if one runs. Functions return 0 or more, or -errno, and proctor_error() says in words
 *what went wrong. A handle is for one thread at a time; forked children open their own.
 *
 * A NULL handle is fine everywhere: calls return -ENOTCONN. So a program may ignore that nobody
 * records it:
 *
 *	struct proctor *p = NULL;
 *
 *	proctor_open(NULL, &p);
 *	proctor_mark(p, "loaded", "{\"rows\": 1000}");
 *	proctor_close(p);
 *
 * Structs may get more members at their end, in the room that is kept for them, so a program goes
 *on working with a later library. Begin those that you fill in with zeros (`struct proctor_job job
 *= { .type = "x" };` does): what is not zero there is refused with -EINVAL.
 *
 * Link with `pkg-config --libs proctor`. What this header has no function for, proctor_call() can
 * do: docs/rpc.md lists the methods. */
#ifndef PROCTOR_H
#define PROCTOR_H

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROCTOR_ID_MAX 128 /* bytes of a job's id, with its NUL; no daemon gives a longer one */
#define PROCTOR_ROOM 4     /* members that a struct can still get */

struct proctor;

/* `socket`: where to; NULL: the door of the job we are in, else the daemon's socket. -ENOENT: there
 * is neither; -EACCES: the socket is neither root's nor ours, and not to be believed. */
int proctor_open(const char *socket, struct proctor **ret);
void proctor_close(struct proctor *p);
/* The last failure; "" when there was none. */
const char *proctor_error(const struct proctor *p);
/* How long one call may take: 5 s unless said otherwise. */
void proctor_set_timeout(struct proctor *p, int ms);

/* ---- jobs and sheets ------------------------------------------------------------------------- */

/* How something ended; zeros: well. */
struct proctor_end {
	int exit_code;
	int signal; /* … or 0 */
};

/* What is NULL or 0 is not said: then the daemon takes what it sees of the process. */
struct proctor_job {
	const char *id;   /* a new one is made if it is NULL */
	const char *type; /* what is to be compared with each other has one type */
	const char *command;
	const char *cwd;
	const char *tags; /* a JSON object of texts */
	pid_t pid;        /* whose descendants belong to it; 0: the caller */
	unsigned total_sheets;
	/* The whole path of a directory: who names it in his command line belongs to the job, too.
	 */
	const char *workspace;
	void *reserved[PROCTOR_ROOM];
};

/* Registers a job with the daemon. A program under `proctor run` is in one already: -EALREADY. */
int proctor_job_start(struct proctor *p, const struct proctor_job *job,
                      char ret_id[PROCTOR_ID_MAX]);
int proctor_job_end(struct proctor *p, const char *id, const struct proctor_end *how);

struct proctor_sheet {
	const char *job_id; /* NULL: the job that the caller is in */
	const char *label;
	unsigned num;   /* 0: the next one */
	unsigned total; /* 0: not known */
	pid_t pid;      /* whose descendants belong to it; 0: the caller */
	void *reserved[PROCTOR_ROOM];
};

/* Returns its number. */
int proctor_sheet_start(struct proctor *p, const struct proctor_sheet *sheet);
int proctor_sheet_end(struct proctor *p, const char *job_id, unsigned num,
                      const struct proctor_end *how);

/* ---- what happens in the job we are in ------------------------------------------------------- */

/* `data` is a JSON object, or NULL. */
int proctor_mark(struct proctor *p, const char *name, const char *data);
int proctor_phase(struct proctor *p, const char *name, double seconds, const char *data);

/* ---- how things are -------------------------------------------------------------------------- */

/* What is not known is NAN, -1 or "". */
struct proctor_context {
	double rss_mb, cpu_pct; /* of the process */
	double daemon_rss_mb;
	long running_jobs, active_sheets; /* in general only */
	char pressure[16];                /* "none", "low", "medium", "high", "critical" */
	char anomalies[256];              /* those that last, with commas between */
	void *reserved[PROCTOR_ROOM];
};

/* Of a process; 0: in general. After a failure nothing in it is known, and it says so. */
int proctor_context(struct proctor *p, pid_t pid, struct proctor_context *ret);

/* ---- the bus --------------------------------------------------------------------------------- */

/* Good until the next proctor_next() or proctor_close(). */
struct proctor_event {
	uint64_t seq;
	double timestamp;   /* seconds since 1970 */
	const char *name;   /* "sheet.completed"; "bus.lagged" when we were too slow */
	const char *job_id; /* "" if it is of none */
	const char *data;   /* a JSON object */
	uint64_t lost;      /* of bus.lagged: how many; 0: not known, the daemon is another one */
	void *reserved[PROCTOR_ROOM];
};

/* From now on, or from `since_seq` on while it is still there (0: from now on). `filter` is how the
 * names begin, NULL: all of them; `job_id` one job, NULL: all that we may see. */
int proctor_subscribe(struct proctor *p, const char *filter, const char *job_id,
                      uint64_t since_seq);
/* 1: here is one; 0: none came in time, which is no failure. A negative time: for ever. */
int proctor_next(struct proctor *p, int timeout_ms, struct proctor_event *ret);
/* To poll for events; -ENOTCONN before proctor_subscribe(). What was read already does not show. */
int proctor_fd(const struct proctor *p);
int proctor_publish(struct proctor *p, const char *name, const char *data);

/* ---- everything else ------------------------------------------------------------------------- */

/* `params` is a JSON object, or NULL. The result is JSON, to be freed by the caller; NULL: nobody
 * needs it. */
int proctor_call(struct proctor *p, const char *method, const char *params, char **ret_result);

#ifdef __cplusplus
}
#endif
#endif
