/* SPDX-License-Identifier: MIT */
/* events_view.h - what happened in a job, a line each, in the order of time. Lines stand by
 * themselves, so that they can be shown while they come. */
#pragma once

#include "base/json.h"
#include "model/history_record.h"
#include "view/canvas.h"

struct events_view {
	uint64_t started_ns; /* of the job: times are counted from it; 0: clock times are shown */
};

void events_view_head(const struct events_view *view, struct canvas *to);
/* `name`: of the process it is about; NULL: not known, or about none. */
void events_view_put(const struct events_view *view, const struct event_record *e, const char *name,
                     struct canvas *to);
/* The same as an object. */
void events_view_json_put(const struct events_view *view, const struct event_record *e,
                          const char *name, struct json *j);
/* "spawn,exit" → 1 << EVENT_SPAWN | 1 << EVENT_EXIT; false: `ret_bad` (of `cap` bytes) is no
 * kind. */
bool events_parse_kinds(const char *text, uint64_t *ret, char *ret_bad, size_t cap);
/* "spawn, exit, …": all of them. */
void events_put_kinds(struct buf *to);
