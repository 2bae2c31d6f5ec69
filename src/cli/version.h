/* SPDX-License-Identifier: MIT */
/* version.h - the version of this program and its build options. */
#pragma once

#include "base/buf.h"

void version_put(struct buf *to);
void version_json_put(struct buf *to);
