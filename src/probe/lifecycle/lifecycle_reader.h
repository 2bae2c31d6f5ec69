/* SPDX-License-Identifier: MIT */
/* lifecycle_reader.h - turns the lifecycle programs' records into events.
 * A process that ends has two records: when it dies, and when it was reaped and its counters are
 * final. An exit is held back until both have come; when the second is late (for example of a zombie) the exit
 * is reported with its peak memory alone, and an EVENT_TOTALS follows. Pure: bytes and the time come
 * in, events go out. */
#pragma once

#include "base/map.h"
#include "model/sample.h"

#define LIFECYCLE_READER_HELD_MAX ((size_t)1 << 16)
#define LIFECYCLE_READER_PATIENCE_NS                                                               \
	NS_PER_S /* the kernel reports the reaped some 10 ms later, on a busy machine 500 */

/* How long reported processes are remembered: not every kernel reports each one that is freed. */
#define LIFECYCLE_READER_MEMORY_NS (600 * NS_PER_S)

struct held_exit {
	uint64_t key;
	struct event exit;
	bool is_reported; /* without totals; kept for its pid */
};

struct lifecycle_reader {
	uint64_t page_bytes;
	bool is_nested; /* our pid namespace is not the initial one: reaped processes have no pid
	                   any more */
	VEC(struct held_exit) held;
	struct map index;   /* key → place in held */
	uint64_t malformed; /* records of no kind or size we know */
};

void lifecycle_reader_done(struct lifecycle_reader *reader);
void lifecycle_reader_take(struct lifecycle_reader *reader, const void *record, size_t len,
                           struct sample *out);
/* Reports the exits that have waited long enough. */
void lifecycle_reader_settle(struct lifecycle_reader *reader, uint64_t now_boot_ns,
                             struct sample *out);
/* How many exits are held back, of those that `matches` accepts. */
size_t lifecycle_reader_pending_totals(const struct lifecycle_reader *reader,
                                       bool (*matches)(void *arg, struct proc_id id), void *arg);
/* Reports these now; their totals may follow. */
void lifecycle_reader_report(struct lifecycle_reader *reader,
                             bool (*matches)(void *arg, struct proc_id id), void *arg,
                             struct sample *out);
/* Records were lost: reports all exits now and expects nothing more. */
void lifecycle_reader_give_up(struct lifecycle_reader *reader, struct sample *out);
