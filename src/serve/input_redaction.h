/* SPDX-License-Identifier: MIT */
/* input_redaction.h - what a job says of itself, without the secrets in it: it is stored and shown. */
#pragma once

#include <jansson.h>

#include "base/buf.h"

/* A name or a label; valid as long as `to`, which is emptied first. */
const char *input_redaction_text(const char *text, struct buf *to);
/* The members of an object, at every level. */
void input_redaction_members(json_t *object);
