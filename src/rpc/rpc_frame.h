/* SPDX-License-Identifier: MIT */
/* rpc_frame.h - splits a stream of bytes into lines, one JSON text each. All sizes are checked before
 * memory is allocated: the length of a line here, depth and number of values by rpc_frame_check()
 * before a parser sees the line. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/scan.h"

#define RPC_FRAME_MAX ((size_t)1 << 20) /* bytes of a request */
#define RPC_FRAME_CHUNK ((size_t)64 << 10)
#define RPC_FRAME_DEPTH_MAX 32
#define RPC_FRAME_VALUES_MAX 8192

/* Zeroed is empty. */
struct rpc_frames {
	size_t max; /* bytes of a line without its newline; 0: RPC_FRAME_MAX */
	struct buf bytes;
	size_t at;       /* start of the next line */
	size_t searched; /* there is no newline between `at` and this */
};

enum rpc_frame_next {
	RPC_FRAME_NONE, /* no complete line yet */
	RPC_FRAME_LINE,
	RPC_FRAME_TOO_LONG, /* nothing more can be read: the start of the next line is unknown */
};

/* Adds at most RPC_FRAME_CHUNK bytes; only after rpc_frames_next() returned RPC_FRAME_NONE. */
void rpc_frames_put(struct rpc_frames *f, const void *bytes, size_t n);
/* The next line without its newline, valid until rpc_frames_put(); empty lines are skipped. */
enum rpc_frame_next rpc_frames_next(struct rpc_frames *f, struct scan *ret_line);
bool rpc_frames_has_line(struct rpc_frames *f);
/* Whether a line has begun; call it only when there is no complete line. */
bool rpc_frames_is_half(const struct rpc_frames *f);
void rpc_frames_done(struct rpc_frames *f);

/* 0, -ELOOP (too deep) or -E2BIG (too many values). Does not check that the line is JSON. */
int rpc_frame_check(struct scan line, struct err *err) must_check;
