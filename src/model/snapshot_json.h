/* SPDX-License-Identifier: MIT */
/* snapshot_json.h - the nouns as JSON, by the metric table, with the keys of docs/store.md's records. */
#pragma once

#include "base/json.h"
#include "model/snapshot.h"

void snapshot_json(struct json *j, const struct snapshot *snap);
void process_json(struct json *j, const struct snapshot *snap, const struct proc_snap *p);
void event_json(struct json *j, const struct snapshot *snap, const struct event *e);
/* The members for one scope's readings, by its table, into an open object. */
void readings_json(struct json *j, const struct metric *table, size_t n, uint64_t present,
                   const uint64_t *value);
/* One value as its unit is shown outside. */
void metric_json(struct json *j, enum metric_unit unit, uint64_t value);
