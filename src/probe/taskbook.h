/* SPDX-License-Identifier: MIT */
/* taskbook.h - turns the task iterator's records into processes of a sample. Pure: bytes in,
 * processes out. */
#pragma once

#include "model/sample.h"
#include "probe/bpf/task_record.h"

struct taskbook {
	uint64_t page_bytes;
	VEC(uint64_t) exec_ids; /* of the processes taken, in the same order */
	uint64_t malformed;     /* bytes that were no record of ours */
};

void taskbook_reset(struct taskbook *book); /* before each pass */
void taskbook_done(struct taskbook *book);
/* Takes what a read of the iterator gave and returns how much: a record that is cut off at the end
 * is left for next time. */
size_t taskbook_take(struct taskbook *book, const void *bytes, size_t len, struct sample *out);
