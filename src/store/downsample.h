/* SPDX-License-Identifier: MIT */
/* downsample.h - a keyframe's span becomes one-minute means. */
#pragma once

#include "base/err.h"

struct store;

int downsample(struct store *st, int64_t keyframe, struct err *err)
	must_check; /* in a transaction */
