/* SPDX-License-Identifier: MIT */
/* statm, io, smaps_rollup, status and limits of a process, each parser on any bytes. */
#include "fuzz.h"
#include "kernel/process_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan text = scan_mem((const char *)data, size);
	struct process_files_statm statm = { .size_pages = 42 };
	struct proc_readings io = { 0 };
	struct process_files_rollup rollup = { .pss_bytes = 42 };
	uint64_t peak = 42, limit = 42;

	FUZZ_CHECK(process_files_parse_statm(text, &statm) || statm.size_pages == 42);
	FUZZ_CHECK(process_files_parse_io(text, &io) || !io.present);
	FUZZ_CHECK(process_files_parse_rollup(text, &rollup) || rollup.pss_bytes == 42);
	FUZZ_CHECK(process_files_parse_peak(text, &peak) || peak == 42);
	FUZZ_CHECK(process_files_parse_fd_limit(text, &limit) || limit == 42);
	return 0;
}
