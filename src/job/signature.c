/* SPDX-License-Identifier: MIT */
#include "job/signature.h"

#include <stdio.h>
#include <string.h>

#include "job/job_ident.h"

bool signature_environ(struct scan bytes, char ret[static JOB_ID_MAX])
{
	struct scan entry;
	struct err err;

	while (scan_until(&bytes, '\0', &entry)) {
		char id[JOB_NAME_MAX +
		        2]; /* one byte longer, so that a long name is refused, not cut */

		if (!scan_lit(&entry, SIGNATURE_VARIABLE "="))
			continue;
		snprintf(id, sizeof id, "%.*s", (int)MIN(scan_left(&entry), sizeof id - 1),
		         entry.p);
		if (job_ident_check(id, &err) < 0)
			return false;
		snprintf(ret, JOB_ID_MAX, "%s", id);
		return true;
	}
	return false;
}

/* Whether the character continues a path component. */
static bool is_of_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (unsigned char)c >= 0x80 || (c && strchr("._-+@~%", c));
}

bool signature_workspace(struct scan command, const char *workspace)
{
	const char *begin = command.p;
	size_t len = strlen(workspace);

	while (len && scan_left(&command) >= len) {
		const char *at = memmem(command.p, scan_left(&command), workspace, len);

		if (!at)
			return false;
		if ((at == begin || !is_of_name(at[-1])) &&
		    (at + len == command.end || !is_of_name(at[len])))
			return true;
		command.p = at + 1;
	}
	return false;
}

/* Paths with "." and ".." are refused: no command line would contain the same spelling. */
static bool has_dots(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/.")); at++) {
		const char *end = at + 2 + (at[2] == '.');

		if (*end == '/' || !*end)
			return true;
	}
	return false;
}

bool signature_workspace_clean(char *path)
{
	size_t len = strlen(path);

	while (len && path[len - 1] == '/')
		path[--len] = '\0';
	return len && path[0] == '/' && !has_dots(path);
}

bool signature_workspace_find(const char *tags, char ret[static JOB_CWD_MAX])
{
	cleanup(buf_done) struct buf key = { 0 }, value = { 0 };
	struct scan at = scan_str(tags);

	while (job_tags_next(&at, &key, &value)) {
		if (!key.len || !value.len || strcmp(key.at, SIGNATURE_WORKSPACE_TAG) != 0 ||
		    value.len >= JOB_CWD_MAX || strlen(value.at) != value.len ||
		    !signature_workspace_clean(value.at))
			continue;
		snprintf(ret, JOB_CWD_MAX, "%s", value.at);
		return true;
	}
	return false;
}
