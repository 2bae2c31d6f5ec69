/* SPDX-License-Identifier: MIT */
/* The tags of a job: every step moves on, and what comes out has a bound. */
#include "fuzz.h"
#include "model/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan at = scan_mem((const char *)data, size);
	struct buf key = { 0 }, value = { 0 };
	size_t left = scan_left(&at);

	while (job_tags_next(&at, &key, &value)) {
		FUZZ_CHECK(scan_left(&at) < left);
		FUZZ_CHECK(key.len <= JOB_TAG_MAX && value.len <= JOB_TAG_MAX);
		left = scan_left(&at);
	}
	buf_done(&key);
	buf_done(&value);
	return 0;
}
