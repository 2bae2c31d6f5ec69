/* SPDX-License-Identifier: MIT */
/* version.h - what this program is and what was built into it. */
#pragma once

#include "base/buf.h"

void version_put(struct buf *to);
void version_json_put(struct buf *to);
