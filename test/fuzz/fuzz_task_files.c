/* SPDX-License-Identifier: MIT */
/* statm, io, smaps_rollup, status and limits of a process, each parser on any bytes. */
#include "fuzz.h"
#include "kernel/process_files.h"
#include "kernel/ptrace_access.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan text = scan_mem((const char *)data, size);
	struct ptrace_target target = { 0 };
	uint32_t uids[3];
	bool is_secure = true;

	FUZZ_CHECK(ptrace_target_parse(text, &target) ? target.state != 0 : target.ppid == 0);
	(void)process_files_parse_uids(text, uids);
	FUZZ_CHECK(process_files_parse_secure(text, &is_secure) || is_secure);
	for (enum process_file file = 0; file < PROCESS_FILE_COUNT; file++) {
		struct proc_readings r = { 0 };

		FUZZ_CHECK(process_files_parse(file, text, &r) || !r.present);
		FUZZ_CHECK(process_files_parse_statm(text, 4096, &r) ||
		           !readings_has(&r, PROC_VMS));
	}
	return 0;
}
