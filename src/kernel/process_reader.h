/* SPDX-License-Identifier: MIT */
/* process_reader.h - hang-proof reads of the files in /proc/PID.
 *
 * Reading stat, io, environ or smaps_rollup waits for locks that a process holds while it executes
 * another program or changes its memory. With a file system that never answers, any user can have
 * them held for ever. So these files are never read on the caller's thread: a thread of the reader
 * does it, for a list of processes at a time. A thread that hangs is left behind, and another one
 * continues with the next process.
 *
 * The files that hang are not read again until that thread has come back and a pause has passed, ten times as
 * long as it was away, but a minute at most: a process that hung for a moment only (an exec from a slow network
 * file system) is then sampled again, while one that hangs for ever costs one thread, once. Of another process
 * that gets the pid they are read at once, unless we had no file descriptor left by which to know it.
 *
 * So a read takes up to 0.1 s more for a process that hangs, half a second for many in one call, and
 * nothing the next time. Only time in which the thread gets no CPU, on a busy machine, comes on top of it.
 * Where processes hang again and again, it is 2 % of the time, or a millisecond for each.
 *
 * Eight threads may hang in processes of one user. Then no other process of this user is read, but those of everybody
 * else are: there are more threads for users that have none yet, and others for root and our own user.
 *
 * A reader is used by one thread. The host has one, and so has each store worker that reads files of processes. */
#pragma once

#include <sys/types.h>

#include "base/defs.h"
#include "base/scan.h"
#include "kernel/process_files.h"

#define PROCESS_READER_BATCH 512 /* a scan of /proc is cheaper the less often it changes threads */

struct process_request {
	pid_t pid;
	pid_t tid;            /* reads the files of this thread; 0: those of the process */
	unsigned files;       /* 1 << enum process_file */
	bool counts_fds;      /* how many files it has open */
	uint64_t offset;      /* where to begin in environ, or the address in memory */
	int fd;               /* of PROCESS_OPEN_FILE and PROCESS_FILE_INFO */
	char device[32];      /* has_device: whether it has a file open whose path begins so;
	                       "": not requested */
	unsigned device_mode; /* … for reading (S_IRUSR) or writing (S_IWUSR); 0: for any */

	/* Filled in. All files come from one open directory: a pid that is reused meanwhile cannot
	 * mix two processes. */
	int error;    /* 0, or why nothing was read: -ENOENT, -ETIMEDOUT when all files hang, -EBUSY
	                  when too many threads hang in processes of this user */
	uint32_t uid; /* the effective user */
	bool has_fds, has_device;
	uint64_t fds;
	int errors[PROCESS_FILE_COUNT];       /* 0 or -errno; -ETIMEDOUT: it hangs */
	struct scan text[PROCESS_FILE_COUNT]; /* valid until the next call; empty with an error */
};

struct process_reader;

/* The fd of the root directory stays the caller's. No thread is started before the first read. */
struct process_reader *process_reader_new(int root_fd);
void process_reader_free(struct process_reader *r); /* NULL is fine; what hangs is left behind */
DEFINE_CLEANUP(struct process_reader *, process_reader_free)
/* Makes the reader return users of the namespace around ours, as the kernel's events have them. */
void process_reader_show_outer_users(struct process_reader *r);
/* Limits the reads that follow: from then on (monotonic clock; 0: never) they answer -ETIMEDOUT, and what hangs is waited
 * for until then at most. */
void process_reader_limit(struct process_reader *r, uint64_t until_mono_ns);
/* At most PROCESS_READER_BATCH processes. */
void process_reader_read(struct process_reader *r, struct process_request *requests, size_t n);
/* The directory /proc, owned by the reader, or -errno. */
int process_reader_proc_fd(struct process_reader *r);
/* CPU time that its threads took by now, but for those that hang. */
uint64_t process_reader_cpu_ns(const struct process_reader *r);
struct process_reader_hangs {
	uint64_t found;       /* processes that were found to hang for half a second, by now */
	pid_t last;           /* … of them */
	uint64_t refused;     /* requests answered with -EBUSY, by now */
	uint32_t refused_uid; /* … the last of them */
};
struct process_reader_hangs process_reader_hangs(struct process_reader *r);
