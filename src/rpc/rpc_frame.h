/* SPDX-License-Identifier: MIT */
/* rpc_frame.h - one JSON text a line, out of a stream of bytes that come in any pieces. Everything is
 * bounded before memory is asked for: the length of a line here, depth and number of values by
 * rpc_frame_check() before a parser sees the line. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/scan.h"

#define RPC_FRAME_MAX ((size_t)1 << 20) /* bytes of a line, its newline not counted */
#define RPC_FRAME_CHUNK ((size_t)64 << 10)
#define RPC_FRAME_DEPTH_MAX 32
#define RPC_FRAME_VALUES_MAX 65536

/* Zeroed is empty. */
struct rpc_frames {
	struct buf bytes;
	size_t at;       /* where the next line begins */
	size_t searched; /* no newline before this */
};

enum rpc_frame_next {
	RPC_FRAME_NONE, /* no whole line is there */
	RPC_FRAME_LINE,
	RPC_FRAME_TOO_LONG, /* nothing can be read any more: where the next line begins is not known */
};

/* At most RPC_FRAME_CHUNK bytes, and only when rpc_frames_next() had no whole line left. */
void rpc_frames_put(struct rpc_frames *f, const void *bytes, size_t n);
/* The next line without its newline, good until rpc_frames_put(); empty lines are passed over. */
enum rpc_frame_next rpc_frames_next(struct rpc_frames *f, struct scan *ret_line);
bool rpc_frames_has_line(struct rpc_frames *f);
bool rpc_frames_is_half(
	const struct rpc_frames *f); /* a line began; ask when there is no whole one */
void rpc_frames_done(struct rpc_frames *f);

/* 0, or -ELOOP (too deep), -E2BIG (too many values). Does not say that it is JSON. */
int rpc_frame_check(struct scan line, struct err *err) must_check;
