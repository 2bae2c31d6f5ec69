/* SPDX-License-Identifier: MIT */
/* exec_error.h - explains why a command cannot be run, in the words of shells, with a remedy. */
#pragma once

#include "base/err.h"

/* `code` is the errno of exec for the command `name`. The file is examined: whether it is in the
 * current directory, is a directory, or needs an interpreter that does not exist. */
void exec_error_describe(const char *name, int code, struct err *ret);

/* The errno of a failed execvp() as shells report it: a command also counts as not found if a
 * directory of PATH may not be searched. */
int exec_error_code(const char *name, int code);

/* The values that timeout(1), env(1) and shells use. */
enum exec_error_status {
	EXEC_ERROR_OURS = 125,
	EXEC_ERROR_NOT_EXECUTABLE = 126,
	EXEC_ERROR_NOT_FOUND = 127
};

/* The exit status for that errno; ECANCELED: we failed before exec. */
enum exec_error_status exec_error_status(int code);
