/* SPDX-License-Identifier: MIT */
/* storage_estimate.h - how a store grows and what retention frees, for `doctor` and `status`. */
#pragma once

#include "config/config.h"
#include "history/history.h"

/* The growth of the store at `path`; NAN where it cannot be read or holds too little. */
struct history_storage storage_estimate(const char *path, const struct config *config);
