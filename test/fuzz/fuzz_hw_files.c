/* SPDX-License-Identifier: MIT */
/* The files of a run folder, each parser on any bytes: every line is counted once, no line gives
 * more than it has, and no figure is out of its range. */
#include "fuzz.h"
#include "store/hwfile.h"

static bool is_empty(struct scan line)
{
	while (line.p < line.end && (*line.p == ' ' || *line.p == '\t' || *line.p == '\r'))
		line.p++;
	return scan_at_end(&line);
}

static void check_sums(const struct hwfile *f)
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
	for (enum hwfile_kind kind = 0; kind < HWFILE_COUNT; kind++) {
		struct scan rest = scan_mem((const char *)data, size), line;
		struct hwfile f;
		uint64_t lines = 0;

		hwfile_init(&f, kind);
		while (scan_line(&rest, &line)) {
			hwfile_take_line(&f, line);
			lines += !is_empty(line);
		}
		FUZZ_CHECK(hwfile_lines(&f.counts) == lines);
		check_sums(&f);
	}
	return 0;
}
