/* SPDX-License-Identifier: MIT */
/* Rows of separated fields: every row moves on, and its fields lie in the text or in the buffer of unquoted ones. */
#include "base/csv.h"
#include "fuzz.h"

static void split_all(const char *text, size_t size, struct csv_format format, struct buf *unquoted)
{
	struct scan at = scan_mem(text, size);
	struct csv_row row;
	struct err err;
	int r = 1;

	while (r) {
		size_t left = scan_left(&at);

		r = csv_split(&at, format, true, unquoted, &row, &err);
		FUZZ_CHECK(r == 0 || scan_left(&at) < left);
		if (r <= 0)
			continue;
		FUZZ_CHECK(row.n >= 1 && row.n <= CSV_FIELDS_MAX);
		for (size_t i = 0; i < row.n; i++)
			FUZZ_CHECK(scan_left(&row.field[i]) <= left);
	}
	FUZZ_CHECK(scan_at_end(&at));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf unquoted = { 0 };

	(void)buf_grow(&unquoted, size);
	split_all((const char *)data, size, (struct csv_format){ ',', true }, &unquoted);
	split_all((const char *)data, size, (struct csv_format){ '|', false }, &unquoted);
	buf_done(&unquoted);
	return 0;
}
