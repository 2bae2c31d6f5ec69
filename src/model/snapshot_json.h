/* SPDX-License-Identifier: MIT */
/* snapshot_json.h - a snapshot and what is in it as JSON, with the keys of docs/store.md's records. */
#pragma once

#include "model/field.h"
#include "model/process_selection.h"
#include "model/snapshot_scope.h"

/* The part of it that is in the scope; NULL: all. */
void snapshot_json(struct json *j, const struct snapshot *snap, const struct snapshot_scope *scope);
/* A line of the JSONL file: only the selected processes, and how many there are and were left out. */
void snapshot_json_line(struct json *j, const struct snapshot *snap,
                        const struct snapshot_scope *scope, enum process_selection selection);
void process_json(struct json *j, const struct snapshot *snap, const struct proc_snap *p);
void event_json(struct json *j, const struct snapshot *snap, const struct event *e);
