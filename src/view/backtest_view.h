/* SPDX-License-Identifier: MIT */
/* backtest_view.h - what requests for memory would have wasted, as `proctor backtest` shows it. */
#pragma once

#include "analyze/backtest.h"
#include "base/json.h"
#include "view/canvas.h"

void backtest_view(const struct backtest *b, struct canvas *to);
/* The members into an open object. */
void backtest_view_json(const struct backtest *b, struct json *j);
