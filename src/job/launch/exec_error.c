/* SPDX-License-Identifier: MIT */
#include "job/launch/exec_error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scan.h"

#define SHEBANG_BYTES 256 /* the kernel's limit */

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The user may have forgotten the "./" before a file in the current directory. */
static void describe_unknown(const char *name, struct err *ret)
{
	char here[NAME_MAX + 3];

	snprintf(here, sizeof here, "./%s", name);
	if (!*name || !is_file(here))
		(void)err_set(ret, ENOENT, "%.150s: command not found", *name ? name : "''");
	else if (access(here, X_OK) == 0)
		(void)err_set(ret, ENOENT, "%.80s: command not found; there is one here: ./%.80s",
		              name, name);
	else
		(void)err_set(ret, ENOENT,
		              "%.70s: command not found; ./%.70s is not executable: chmod +x it",
		              name, name);
}

/* #!/usr/bin/env python3 */
static bool read_interpreter(const char *path, struct scan *ret, char text[SHEBANG_BYTES])
{
	ssize_t n = io_read_at(AT_FDCWD, path, text, SHEBANG_BYTES);
	struct scan s = scan_mem(text, n > 0 ? (size_t)n : 0);

	if (!scan_lit(&s, "#!"))
		return false;
	scan_blanks(&s);
	return scan_word(&s, ret);
}

static void describe_missing(const char *path, struct err *ret)
{
	char text[SHEBANG_BYTES];
	struct scan word;

	if (!is_file(path))
		(void)err_set(ret, ENOENT, "%.150s: no such file or directory", path);
	else if (read_interpreter(path, &word, text))
		(void)err_set(ret, ENOENT, "%.100s: its interpreter '%.*s' was not found%s", path,
		              (int)MIN(scan_left(&word), (size_t)80), word.p,
		              memchr(word.p, '\r', scan_left(&word)) ? " (lines end in CR LF)"
		                                                     : "");
	else
		(void)err_set(ret, ENOENT, "%.150s: the loader it asks for was not found", path);
}

static void describe_denied(const char *name, struct err *ret)
{
	if (is_directory(name) && strchr(name, '/'))
		(void)err_set(ret, EACCES, "%.150s: is a directory", name);
	else if (strchr(name, '/') && is_file(name) && access(name, X_OK) < 0)
		(void)err_set(ret, EACCES,
		              "%.100s: permission denied; it is not executable: chmod +x it", name);
	else
		(void)err_set(ret, EACCES, "%.150s: permission denied", name);
}

void exec_error_describe(const char *name, int code, struct err *ret)
{
	if (code == ENOENT && !strchr(name, '/'))
		describe_unknown(name, ret);
	else if (code == ENOENT)
		describe_missing(name, ret);
	else if (code == EACCES)
		describe_denied(name, ret);
	else
		(void)err_set(ret, code, "%.150s: %s", name, strerror(code));
}

/* Whether a directory of PATH that may be searched has a file of that name. */
static bool is_in_path(const char *name)
{
	const char *at = getenv("PATH");
	char file[PATH_MAX];

	while (at && *at) {
		size_t len = strcspn(at, ":");

		if (len + strlen(name) + 2 < sizeof file) {
			snprintf(file, sizeof file, "%.*s/%s", len ? (int)len : 1, len ? at : ".", name);
			if (is_file(file))
				return true;
		}
		at += len + (at[len] == ':');
	}
	return false;
}

int exec_error_code(const char *name, int code)
{
	return code == EACCES && !strchr(name, '/') && !is_in_path(name) ? ENOENT : code;
}

enum exec_error_status exec_error_status(int code)
{
	if (code == ECANCELED)
		return EXEC_ERROR_OURS;
	return code == ENOENT ? EXEC_ERROR_NOT_FOUND : EXEC_ERROR_NOT_EXECUTABLE;
}
