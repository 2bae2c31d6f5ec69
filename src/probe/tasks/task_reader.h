/* SPDX-License-Identifier: MIT */
/* task_reader.h - turns the task iterator's records into processes of a sample. Pure: bytes in,
 * processes out. */
#pragma once

#include "model/sample.h"
#include "probe/bpf/task_record.h"

struct task_reader {
	uint64_t page_bytes;
	VEC(uint64_t) exec_ids; /* of the processes taken, in the same order */
	uint64_t malformed;     /* bytes that were no record of ours */
};

void task_reader_reset(struct task_reader *book); /* before each pass */
void task_reader_done(struct task_reader *book);
/* Takes what a read of the iterator gave and returns how much: a record that is cut off at the end
 * is left for next time. */
size_t task_reader_take(struct task_reader *book, const void *bytes, size_t len,
                        struct sample *out);
