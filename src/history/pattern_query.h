/* SPDX-License-Identifier: MIT */
/* pattern_query.h - what earlier analyses found (store/pattern_table.c). */
#pragma once

#include "history/history.h"
#include "model/pattern.h"

/* Appends those that hold, at most PATTERNS_MAX. */
int history_patterns(struct history *r, struct patterns *ret, struct err *err) must_check;
