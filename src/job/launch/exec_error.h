/* SPDX-License-Identifier: MIT */
/* exec_error.h - why a command cannot be run, in the words that shells use, and what may help. */
#pragma once

#include "base/err.h"

/* `code` is what exec said of the command `name`, which is looked at as it is now: whether it lies
 * here, is a directory, or asks for an interpreter that is not there. */
void exec_error_describe(const char *name, int code, struct err *ret);
