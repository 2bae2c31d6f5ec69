/* SPDX-License-Identifier: MIT */
/* exec_error.h - explains why a command cannot be run, in the words of shells, with a remedy. */
#pragma once

#include "base/err.h"

/* `code` is the errno of exec for the command `name`. The file is examined: whether it is in the
 * current directory, is a directory, or needs an interpreter that does not exist. */
void exec_error_describe(const char *name, int code, struct err *ret);

/* The errno of a failed execvp() as shells have it: a command is not found, too, where only a directory of PATH may not be
 * searched. */
int exec_error_code(const char *name, int code);

/* As timeout(1), env(1) and the shells have it. */
enum exec_error_status {
	EXEC_ERROR_OURS = 125,
	EXEC_ERROR_NOT_EXECUTABLE = 126,
	EXEC_ERROR_NOT_FOUND = 127
};

/* The exit status for that errno; ECANCELED: we failed before exec. */
enum exec_error_status exec_error_status(int code);
