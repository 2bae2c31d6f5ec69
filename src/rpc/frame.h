/* SPDX-License-Identifier: MIT */
/* frame.h - one JSON text a line, out of a stream of bytes that come in any pieces. Everything is
 * bounded before memory is asked for: the length of a line here, depth and number of values by
 * frame_check() before a parser sees the line. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/scan.h"

#define FRAME_MAX ((size_t)1 << 20) /* bytes of a line, its newline not counted */
#define FRAME_CHUNK ((size_t)64 << 10)
#define FRAME_DEPTH_MAX 32
#define FRAME_VALUES_MAX 65536

/* Zeroed is empty. */
struct frames {
	struct buf bytes;
	size_t at;       /* where the next line begins */
	size_t searched; /* no newline before this */
};

enum frame_next {
	FRAME_NONE, /* no whole line is there */
	FRAME_LINE,
	FRAME_TOO_LONG, /* nothing can be read any more: where the next line begins is not known */
};

/* At most FRAME_CHUNK bytes, and only when frames_next() had no whole line left. */
void frames_put(struct frames *f, const void *bytes, size_t n);
/* The next line without its newline, good until frames_put(); empty lines are passed over. */
enum frame_next frames_next(struct frames *f, struct scan *ret_line);
bool frames_has_line(struct frames *f);
bool frames_is_half(const struct frames *f); /* a line began; ask when there is no whole one */
void frames_done(struct frames *f);

/* 0, or -ELOOP (too deep), -E2BIG (too many values). Does not say that it is JSON. */
int frame_check(struct scan line, struct err *err) must_check;
