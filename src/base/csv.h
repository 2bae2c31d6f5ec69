/* SPDX-License-Identifier: MIT */
/* csv.h - rows of separated fields from a file, in bounded memory. Fields may be quoted ("a ""b"", c"), and a
 * quoted field may hold separators and newlines. Lines end in \n or \r\n; a byte order mark is skipped; empty lines are
 * no rows. A row that is too long, has too many fields or broken quotes is skipped and reported, and reading
 * goes on at the next line. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/scan.h"

#define CSV_FIELDS_MAX 128
#define CSV_ROW_MAX ((size_t)1 << 16)

/* Its fields are valid until the next one is read. */
struct csv_row {
	struct scan field[CSV_FIELDS_MAX];
	size_t n;
	uint64_t line; /* the first one is 1 */
};

/* How a row is split. */
struct csv_format {
	char separator;
	bool is_quoted; /* '"' has a meaning */
};

/* Splits the first row off `text`. 1: *ret is written; 0: `text`, which is not the last of the file, does not hold
 * a whole row; -EBADMSG: see err, and the line is skipped. Fields with "" are written to `unquoted`, which must not move:
 * it has room for as many bytes as `text`. */
int csv_split(struct scan *text, struct csv_format format, bool is_last, struct buf *unquoted,
              struct csv_row *ret, struct err *err) must_check;

struct csv {
	int fd; /* borrowed */
	struct csv_format format;
	struct buf unquoted;
	char *bytes; /* CSV_ROW_MAX of them */
	size_t from, to;
	uint64_t line;  /* of the next row */
	uint64_t taken; /* bytes of the file that rows were read from */
	bool is_at_end, is_skipping;
};

void csv_init(struct csv *c, int fd);
void csv_done(struct csv *c);
/* 1: a row; 0: the end of the file; -EBADMSG: a row that was skipped, see err and ret->line; else -errno. The first
 * row decides on the separator: a tab, '|' or ','. */
int csv_next(struct csv *c, struct csv_row *ret, struct err *err) must_check;
