/* SPDX-License-Identifier: MIT */
/* task_reader.h - turns the task iterator's records into processes of a sample. Of a process that did not
 * change, a pass gives nothing but its identity: it is as it was in the sample before. Pure: bytes in,
 * processes out. */
#pragma once

#include "model/sample.h"
#include "probe/bpf/task_record.h"

struct task_reader {
	uint64_t page_bytes;
	uint64_t read; /* the metrics that records have had: the others are not ours */

	/* State of this read. */
	const struct sample *last; /* the sample before; NULL: none */
	VEC(pid_t) fresh;          /* processes that were read in full */
	size_t next;               /* which process of the last sample is expected */
	size_t seen;               /* how many of them were found again */
	bool families_changed;     /* a process is new or has another parent */
	uint64_t unknown;          /* unchanged processes that are not in the last sample */
	uint64_t malformed;        /* bytes that were no record of ours */
};

void task_reader_done(struct task_reader *reader);
/* Before each pass: out->last must be what the pass before filled. */
void task_reader_begin(struct task_reader *reader, struct sample *out);
/* How many processes that one has. */
size_t task_reader_last_len(const struct task_reader *reader);
/* Takes what a read of the iterator gave and returns how much: a record that is cut off at the end
 * is left for next time. Processes read in full have no command line yet. */
size_t task_reader_take(struct task_reader *reader, const void *bytes, size_t len,
                        struct sample *out);
/* Sets what the kernel counted; without has_io, its counters of storage I/O are not known. */
void task_reader_set_counters(const struct task_counters *c, bool has_io, struct proc_readings *to);
/* A process that was read elsewhere; NULL at the ceiling. */
struct proc_sample *task_reader_add(struct task_reader *reader, const struct proc_sample *p,
                                    struct sample *out);
