/* SPDX-License-Identifier: MIT */
/* snapshot_json.h - a snapshot and what is in it as JSON, with the keys of docs/store.md's records. */
#pragma once

#include "model/field.h"
#include "model/snapshot.h"

void snapshot_json(struct json *j, const struct snapshot *snap);
void process_json(struct json *j, const struct snapshot *snap, const struct proc_snap *p);
void event_json(struct json *j, const struct snapshot *snap, const struct event *e);
