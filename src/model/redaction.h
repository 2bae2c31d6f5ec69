/* SPDX-License-Identifier: MIT */
/* redaction.h - a command line, or what somebody said, without its secrets. Whatever is stored, shown
 * or sent on has been through here first. It errs on the side of hiding: where the end of a secret
 * is not certain, all the rest of the argument goes. */
#pragma once

#include "base/buf.h"

/* `raw` holds arguments as /proc/PID/cmdline does, each ended by a NUL. Writes them joined by
 * spaces, without blanks at the end, secrets replaced by "***", other bytes as they are: at most
 * cap bytes, no NUL; what does not fit is cut, which '…' shows. Returns how many. */
size_t redact_command(const char *raw, size_t len, char *to, size_t cap);
/* The same for what somebody said: a label, a name. Appended to `to`. */
void redact_text(const char *text, struct buf *to);
/* … and for the value of what is called `key`, all of which may be a secret. */
void redact_value(const char *key, const char *text, struct buf *to);
