/* SPDX-License-Identifier: MIT */
/* The text of a snapshot, as the screen of top reads it. */
#include "fuzz.h"
#include "top/snapshot_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan text = scan_mem((const char *)data, size), snapshot, processes;
	struct buf head = { 0 };
	struct frame f = { 0 };

	frame_reset(&f);
	frame_add_job(&f, (struct job_key){ 0, "train" });
	if (snapshot_text_find(text, &snapshot) && snapshot_text_split(snapshot, &head, &processes)) {
		FUZZ_CHECK(processes.p >= text.p && processes.end <= text.end);
		snapshot_text_fill(processes, &f);
	}
	snapshot_text_fill(text, &f);
	vec_each(&f.procs, p)
		FUZZ_CHECK(p->job < 1);
	frame_complete(&f, NULL);
	frame_done(&f);
	buf_done(&head);
	return 0;
}
