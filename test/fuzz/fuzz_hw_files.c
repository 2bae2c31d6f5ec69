/* SPDX-License-Identifier: MIT */
/* The files of a run folder, each parser on any bytes: every line is counted once, no line gives
 * more than it has, and no figure is out of its range. */
#include "fuzz.h"
#include "runfolder/hardware_file.h"

static bool is_empty(struct scan line)
{
	while (line.p < line.end && (*line.p == ' ' || *line.p == '\t' || *line.p == '\r'))
		line.p++;
	return scan_at_end(&line);
}

static void check_sums(const struct hardware_file *f)
{
	static const enum resource_series percents[] = { RESOURCE_GPU_UTIL_PCT,
		                                         RESOURCE_MEM_UTIL_PCT,
		                                         RESOURCE_CPU_USR_PCT,
		                                         RESOURCE_CPU_IDLE_PCT };
	uint64_t values = 0;

	for (size_t i = 0; i < RESOURCE_SERIES_COUNT; i++) {
		FUZZ_CHECK(f->sums.series[i].n <= f->counts.used);
		FUZZ_CHECK(f->sums.series[i].sum_milli <=
		           f->sums.series[i].n * f->sums.series[i].max_milli);
		values += f->sums.series[i].n;
	}
	FUZZ_CHECK(values >= f->counts.used);
	for (size_t i = 0; i < ARRAY_LEN(percents); i++)
		FUZZ_CHECK(f->sums.series[percents[i]].max_milli <= 100000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (enum hardware_file_kind kind = 0; kind < HARDWARE_FILE_COUNT; kind++) {
		struct scan rest = scan_mem((const char *)data, size), line;
		struct hardware_file f;
		uint64_t lines = 0;

		hardware_file_init(&f, kind);
		while (scan_line(&rest, &line)) {
			hardware_file_read_line(&f, line);
			lines += !is_empty(line);
		}
		FUZZ_CHECK(hardware_file_lines(&f.counts) == lines);
		check_sums(&f);
	}
	return 0;
}
