/* SPDX-License-Identifier: MIT */
/* input_redaction.h - removes secrets from the parameters of clients, before they are stored and
 * shown. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

/* A name or a label; valid as long as `to`, which is emptied first. */
const char *input_redaction_text(const char *text, struct buf *to);
/* A parameter that is an object, as JSON text of at most `max` bytes before and after secrets were removed;
 * owned by the caller, unchanged if there is none. */
int input_redaction_object(const json_t *params, const char *name, size_t max, char **ret,
                           struct err *err) must_check;
