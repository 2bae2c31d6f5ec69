/* SPDX-License-Identifier: MIT */
/* proctor.h - use proctor from your own program.
 *
 * A program that runs under `proctor run` is connected to the recorder of its job; any other program
 * is connected to the daemon, if one is running. Functions return 0 or a positive number on success
 * and -errno on failure; proctor_error() describes the failure. A handle is for one thread at a
 * time; forked children open their own.
 *
 * Every function accepts a NULL handle and returns -ENOTCONN, so a program need not check whether
 * it is being recorded:
 *
 *	struct proctor *p = NULL;
 *
 *	proctor_open(NULL, &p);
 *	proctor_mark(p, "loaded", "{\"rows\": 1000}");
 *	proctor_close(p);
 *
 * Structs may gain members in the room reserved at their end, so programs keep working with a later
 * library. Initialise the ones that you fill in with zeros, as in
 * `struct proctor_job job = { .type = "x" };`. A reserved member that is not zero is refused with
 * -EINVAL.
 *
 * Link with `pkg-config --libs proctor`. Methods without a function here can be called with
 * proctor_call(); docs/rpc.md lists them. */
#ifndef PROCTOR_H
#define PROCTOR_H

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROCTOR_ID_MAX 128 /* size of a job id, including its NUL */
#define PROCTOR_ROOM 4     /* reserved members of a struct */

struct proctor;

/* `socket`: the path to connect to; NULL: the socket of the job that we are in, else the daemon's.
 * -ENOENT: there is neither. -EACCES: the server is neither root's nor ours, and is not trusted. */
int proctor_open(const char *socket, struct proctor **ret);
void proctor_close(struct proctor *p);
/* The message of the last failure; "" if there was none. */
const char *proctor_error(const struct proctor *p);
/* The time limit of one call; 5 s by default. */
void proctor_set_timeout(struct proctor *p, int ms);

/* ---- jobs and sheets ------------------------------------------------------------------------- */

/* How something ended; zeros mean success. */
struct proctor_end {
	int exit_code;
	int signal; /* the signal that killed it, or 0 */
};

/* For members that are NULL or 0 the daemon uses what it sees of the process. */
struct proctor_job {
	const char *id;   /* NULL: generated */
	const char *type; /* jobs of one type are compared with each other */
	const char *command;
	const char *cwd;
	const char *tags; /* a JSON object of strings */
	pid_t pid;        /* its descendants belong to the job; 0: the caller; -1: none, see docs */
	unsigned total_sheets;
	/* An absolute path: processes with it in their command line belong to the job, too. */
	const char *workspace;
	void *reserved[PROCTOR_ROOM];
};

/* Registers a job with the daemon. -EALREADY: the program runs under `proctor run`, so it is in a
 * job already. */
int proctor_job_start(struct proctor *p, const struct proctor_job *job,
                      char ret_id[PROCTOR_ID_MAX]);
int proctor_job_end(struct proctor *p, const char *id, const struct proctor_end *how);

struct proctor_sheet {
	const char *job_id; /* NULL: the caller's job */
	const char *label;
	unsigned num;   /* 0: the next one */
	unsigned total; /* 0: unknown */
	pid_t pid;      /* its descendants belong to the sheet; 0: the caller */
	void *reserved[PROCTOR_ROOM];
};

/* Returns the number of the sheet. */
int proctor_sheet_start(struct proctor *p, const struct proctor_sheet *sheet);
int proctor_sheet_end(struct proctor *p, const char *job_id, unsigned num,
                      const struct proctor_end *how);

/* ---- events of the caller's job -------------------------------------------------------------- */

/* `data` is a JSON object, or NULL. JSON has no NaN and no infinities: write the texts "NaN",
 * "Infinity" and "-Infinity"; what printf() writes (nan, inf) is refused with -EINVAL. */
int proctor_mark(struct proctor *p, const char *name, const char *data);
int proctor_phase(struct proctor *p, const char *name, double seconds, const char *data);

/* ---- the current state ----------------------------------------------------------------------- */

/* Unknown values are NAN, -1 or "". */
struct proctor_context {
	double rss_mb, cpu_pct; /* of the process */
	double daemon_rss_mb;
	long running_jobs, active_sheets; /* only without a process */
	char pressure[16];                /* "none", "low", "medium", "high", "critical" */
	char anomalies[256];              /* the active ones, separated by commas */
	void *reserved[PROCTOR_ROOM];
};

/* Reads the context of a process, or of the machine if `pid` is 0. After a failure every member is
 * unknown. */
int proctor_context(struct proctor *p, pid_t pid, struct proctor_context *ret);

/* ---- the event bus --------------------------------------------------------------------------- */

/* Valid until the next proctor_next() or proctor_close(). */
struct proctor_event {
	uint64_t seq;
	double timestamp;   /* seconds since 1970 */
	const char *name;   /* "sheet.completed"; "bus.lagged" if events were lost */
	const char *job_id; /* "" if it belongs to no job */
	const char *data;   /* a JSON object */
	uint64_t lost;      /* of bus.lagged: how many; 0: unknown, because the daemon restarted */
	void *reserved[PROCTOR_ROOM];
};

/* Subscribes from now on, or from event `since_seq` on if it is still kept (0: from now on). With
 * `filter` only events whose names start with it, with `job_id` only those of one job, the caller's
 * own, or as root USER:ID; NULL: all that we may see. */
int proctor_subscribe(struct proctor *p, const char *filter, const char *job_id,
                      uint64_t since_seq);
/* Returns 1 with an event, or 0 on timeout. A negative timeout waits forever. */
int proctor_next(struct proctor *p, int timeout_ms, struct proctor_event *ret);
/* An fd to poll for events; -ENOTCONN before proctor_subscribe(). Events that were received already
 * do not make it readable, so call proctor_next() until it returns 0. */
int proctor_fd(const struct proctor *p);
int proctor_publish(struct proctor *p, const char *name, const char *data);

/* ---- everything else ------------------------------------------------------------------------- */

/* `params` is a JSON object, or NULL. *ret_result is JSON, freed by the caller; `ret_result` may be
 * NULL. */
int proctor_call(struct proctor *p, const char *method, const char *params, char **ret_result);

#ifdef __cplusplus
}
#endif
#endif
