/* SPDX-License-Identifier: MIT */
/* redact.h - removes secrets from command lines and from text of clients, before anything is
 * stored, shown or sent. When in doubt it hides: if the end of a secret is uncertain, the rest of the
 * argument is masked. */
#pragma once

#include "base/buf.h"
#include "base/scan.h"

/* `raw` holds arguments in the format of /proc/PID/cmdline, each terminated by a NUL. Writes them
 * joined by spaces, without trailing blanks, with secrets replaced by "***": at most `cap` bytes, no
 * NUL; text that does not fit is cut and ends in '…'. Returns the number of bytes. */
size_t redact_command(const char *raw, size_t len, char *to, size_t cap);
/* The same for text of a client, such as a label or a name. Appended to `to`. */
void redact_text(const char *text, struct buf *to);
/* The same for the value of `key`, which is masked as a whole if `key` names a secret. */
void redact_value(const char *key, const char *text, struct buf *to);
/* Whether this value is a secret by its key. */
bool redact_hides(const char *key, const char *text);
