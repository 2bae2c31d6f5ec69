/* SPDX-License-Identifier: MIT */
/* Files of past runs: a run that is read has a type, a peak and texts that end. */
#include <string.h>

#include "fuzz.h"
#include "model/past_run_file.h"

static void check_run(const struct past_run *run)
{
	FUZZ_CHECK(*run->type && strnlen(run->type, sizeof run->type) < sizeof run->type);
	FUZZ_CHECK(strnlen(run->id, sizeof run->id) < sizeof run->id);
	FUZZ_CHECK(strnlen(run->tags, sizeof run->tags) < sizeof run->tags);
	FUZZ_CHECK(strnlen(run->outcome, sizeof run->outcome) < sizeof run->outcome);
	FUZZ_CHECK(run->peak_bytes > 0 && run->basis < RUN_BASIS_COUNT);
}

/* The first line is the header. */
static void read_all(struct scan text, struct csv_format format, struct buf *unquoted)
{
	struct run_file_reader reader = { 0 };
	struct csv_row row = { 0 };
	struct past_run run;
	uint64_t line;
	struct err err;
	int r = csv_split(&text, format, true, unquoted, &row, &err);

	if (r <= 0 || past_run_file_parse_header(&row, &reader.columns, &err) < 0)
		return;
	while ((r = csv_split(&text, format, true, unquoted, &row, &err)) != 0)
		if (r > 0 && past_run_file_add(&reader, &row, &run, &line, &err) > 0)
			check_run(&run);
	if (past_run_file_add(&reader, NULL, &run, &line, &err) > 0)
		check_run(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct csv_format formats[] = { { ',', true },
		                                     { '|', false },
		                                     { '\t', true } };
	struct buf unquoted = { 0 };

	(void)buf_grow(&unquoted, size);
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		read_all(scan_mem((const char *)data, size), formats[i], &unquoted);
	buf_done(&unquoted);
	return 0;
}
