/* SPDX-License-Identifier: MIT */
/* snapshot_text.h - reads the text of a snapshot without building a tree of it: a machine may have thousands of processes,
 * and a refresh should cost less than a glance at them. Members are found by base/json_read.h. */
#pragma once

#include "base/buf.h"
#include "base/scan.h"
#include "view/frame.h"

/* Whether a line is the notification of a snapshot, and the text of that. */
bool snapshot_text_find(struct scan line, struct scan *ret);
/* Everything but its processes as an object of its own, and the list of processes as it is written. False: it is not an
 * object. */
bool snapshot_text_split(struct scan snapshot, struct buf *ret_head, struct scan *ret_processes);
/* The processes of the list; the jobs of the frame are there already. What is malformed is left out. */
void snapshot_text_fill(struct scan processes, struct frame *ret);
