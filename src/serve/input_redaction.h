/* SPDX-License-Identifier: MIT */
/* input_redaction.h - removes secrets from the parameters of clients, before they are stored and
 * shown. */
#pragma once

#include <jansson.h>

#include "base/buf.h"

/* A name or a label; valid as long as `to`, which is emptied first. */
const char *input_redaction_text(const char *text, struct buf *to);
/* The members of an object, at every level. */
void input_redaction_members(json_t *object);
