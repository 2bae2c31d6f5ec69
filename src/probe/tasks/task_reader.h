/* SPDX-License-Identifier: MIT */
/* task_reader.h - turns the task iterator's records into processes of a sample, and keeps these: of a
 * process that did not change, the next pass gives nothing but its identity. Pure: bytes in,
 * processes out. */
#pragma once

#include "model/sample.h"
#include "probe/bpf/task_record.h"

/* A process that this pass read in full. */
struct fresh_task {
	pid_t pid;
	uint32_t kept_at; /* where it is kept, FRESH_NEW when it is not yet */
};

#define FRESH_NEW UINT32_MAX

struct task_reader {
	uint64_t page_bytes;
	struct sample kept; /* the processes of the last pass and their command lines */

	/* Of this pass. */
	VEC(struct fresh_task) fresh;
	size_t next;           /* which of those kept is expected */
	size_t seen;           /* how many of them were */
	bool families_changed; /* a process is new or has another parent */
	uint32_t text_at;      /* where a copy of the text lies in the sample's */
	bool has_text;
	uint64_t unknown;   /* unchanged processes that are not kept */
	uint64_t malformed; /* bytes that were no record of ours */
};

void task_reader_done(struct task_reader *reader);
/* Before each pass, and before anything is put into the sample. */
void task_reader_begin(struct task_reader *reader, struct sample *out);
/* Takes what a read of the iterator gave and returns how much: a record that is cut off at the end
 * is left for next time. Processes read in full have no command line yet. */
size_t task_reader_take(struct task_reader *reader, const void *bytes, size_t len,
                        struct sample *out);
/* A process that was read elsewhere; NULL at the ceiling. */
struct proc_sample *task_reader_add(struct task_reader *reader, const struct proc_sample *p,
                                    struct sample *out);
/* After the last, when the sample is sorted and has all command lines: what it holds is kept. */
void task_reader_end(struct task_reader *reader, const struct sample *out);
