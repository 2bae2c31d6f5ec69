/* SPDX-License-Identifier: MIT */
/* redact.h - a command line without its secrets. Whatever is stored, shown or sent on has been
 * through here first. It errs on the side of hiding: where the end of a secret is not certain, all
 * the rest of the argument goes. */
#pragma once

#include "base/defs.h"

/* `raw` holds arguments as /proc/PID/cmdline does, each ended by a NUL. Writes them joined by
 * spaces, without blanks at the end, secrets replaced by "***", other bytes as they are: at most
 * cap bytes, no NUL. Returns how many. */
size_t redact_command(const char *raw, size_t len, char *to, size_t cap);
