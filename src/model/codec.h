/* SPDX-License-Identifier: MIT */
/* codec.h - the nouns as JSON, by the metric table, with the keys of docs/store.md's records. */
#pragma once

#include "base/json.h"
#include "model/snapshot.h"

void codec_snapshot(struct json *j, const struct snapshot *snap);
void codec_process(struct json *j, const struct snapshot *snap, const struct proc_snap *p);
void codec_event(struct json *j, const struct snapshot *snap, const struct event *e);
/* The members for one scope's readings, by its table, into an open object. */
void codec_readings(struct json *j, const struct metric *table, size_t n, uint64_t present,
                    const uint64_t *value);
/* One value as its unit is shown outside. */
void codec_value(struct json *j, enum metric_unit unit, uint64_t value);
