/* SPDX-License-Identifier: MIT */
/* capture.h - copies what the command writes to stdout and stderr into files, on its way to where it
 * goes without us. Each of the two becomes a pipe, or a terminal if it was one, and a helper process
 * reads it: first into the file, then to the original. The helper belongs to no job, blocks every
 * signal and does not end with us: neither our death nor a background process that keeps the output
 * open affects the command.
 *
 * Where both go to the same place (2>&1, or one terminal), they stay one stream: two readers would
 * lose the order of what is written to it.
 *
 *	capture_start(log_fds, &c, &err);   // while this process is small
 *	capture_attach(c);                  // in the command's process, before exec
 *	capture_release(c);                 // when the command has its copies
 *	capture_finish(c);                  // when the command has ended
 *	capture_free(c);                    // always; NULL is fine */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

enum capture_stream { CAPTURE_STDOUT, CAPTURE_STDERR, CAPTURE_COUNT };

struct capture;

/* The result of one stream, once capture_finish() has returned. */
struct capture_result {
	bool was_terminal; /* … and is a pipe, because there is no pseudo-terminal here */
	uint64_t lost;     /* bytes that the file lacks, at its end */
	int error;         /* … and why: an errno */
};

/* Whether stdout and stderr go to the same place, in which their order can be seen. */
bool capture_is_one_stream(void);
/* Takes the files of both streams; if they are one, the second is -1. A stream that is closed stays
 * so. */
int capture_start(const int take_log_fds[static CAPTURE_COUNT], struct capture **ret,
                  struct err *err) must_check;
/* Async-signal-safe. */
void capture_attach(const struct capture *c);
void capture_release(struct capture *c);
/* Returns when all that the command has written is in the files and has reached its reader. A signal
 * that would end us ends the wait. */
void capture_finish(struct capture *c);
/* If both are one stream, it is that of stdout. */
struct capture_result capture_result(const struct capture *c, enum capture_stream stream);
void capture_free(struct capture *c);
DEFINE_CLEANUP(struct capture *, capture_free)
