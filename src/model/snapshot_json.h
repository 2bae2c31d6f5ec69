/* SPDX-License-Identifier: MIT */
/* snapshot_json.h - a snapshot and what is in it as JSON, with the keys of docs/store.md's records. */
#pragma once

#include "model/field.h"
#include "model/process_selection.h"
#include "model/snapshot_scope.h"

/* The members of a snapshot: its head, counts of what is in the scope, its tail; and of what it lists. */
extern const struct field_table snapshot_head_fields, snapshot_count_fields, snapshot_tail_fields;
extern const struct field_table live_process_fields, live_job_fields, live_gpu_fields,
	live_gpu_use_fields;

/* Each process, job and event is encoded at most once (a process once more for readers that may not see its job), into
 * one text that all readers share: the JSONL file, every client, the bus. A scope picks from it, and adds its own head and counts. Used
 * from several threads. */
struct snapshot_json_cache;
struct snapshot_json_cache *snapshot_json_cache_new(void);
void snapshot_json_cache_reset(struct snapshot_json_cache *cache);
void snapshot_json_cache_free(struct snapshot_json_cache *cache);

/* The part of it that is in the scope; NULL: all. */
void snapshot_json(struct json *j, const struct snapshot *snap, const struct snapshot_scope *scope);
/* A line of the JSONL file: only the selected processes, and how many there are and were left out. */
void snapshot_json_line(struct json *j, const struct snapshot *snap,
                        const struct snapshot_scope *scope, enum process_selection selection);
void snapshot_json_event(struct json *j, const struct snapshot *snap, size_t index);
