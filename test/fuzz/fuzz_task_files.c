/* SPDX-License-Identifier: MIT */
/* statm, io, smaps_rollup, status and limits of a process, each parser on any bytes. */
#include "fuzz.h"
#include "kernel/process_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan text = scan_mem((const char *)data, size);

	for (enum process_file file = 0; file < PROCESS_FILE_COUNT; file++) {
		struct proc_readings r = { 0 };

		FUZZ_CHECK(process_files_parse(file, text, &r) || !r.present);
		FUZZ_CHECK(process_files_parse_statm(text, 4096, &r) ||
		           !readings_has(&r, PROC_VMS));
	}
	return 0;
}
