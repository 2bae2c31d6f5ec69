/* SPDX-License-Identifier: MIT */
/* When a command failed: whether a file system that it may have written to is full or read-only. Found at once,
 * because the room may be there again a moment later. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "engine/jobhost_state.h"
#include "kernel/disk_state.h"

#define PATIENCE_NS (100 * NS_PER_MS)
#define FULL_BYTES (UINT64_C(1) << 20)
#define FULL_INODES 8

static void report(struct jobhost *h, const struct disk_place *p, const char *name)
{
	if (!p->is_known)
		return;
	if (p->is_read_only)
		emit_event(h, EVENT_DISK, EVENT_DISK_READ_ONLY, 0, name);
	else if (p->free_inodes <= FULL_INODES)
		emit_event(h, EVENT_DISK, EVENT_DISK_INODES, p->free_inodes, name);
	else if (p->free_bytes < FULL_BYTES)
		emit_event(h, EVENT_DISK, EVENT_DISK_FULL, p->free_bytes, name);
}

void disk_check(struct jobhost *h)
{
	enum { CWD, OUTPUT, ERRORS, TEMPORARY, PLACES };
	struct disk_place places[PLACES] = { [CWD] = { .fd = -1 },
		                             [OUTPUT] = { .fd = STDOUT_FILENO },
		                             [ERRORS] = { .fd = STDERR_FILENO },
		                             [TEMPORARY] = { .fd = -1 } };
	const char *temporary = getenv("TMPDIR");

	if (!has_failed(h))
		return;
	text_copy(places[CWD].path, sizeof places[CWD].path, ".");
	text_copy(places[TEMPORARY].path, sizeof places[TEMPORARY].path,
	          temporary && *temporary ? temporary : "/tmp");
	disk_state_read(places, PLACES, PATIENCE_NS);
	report(h, &places[CWD], job_of(h)->cwd);
	report(h, &places[OUTPUT], "standard output");
	report(h, &places[ERRORS], "standard error");
	report(h, &places[TEMPORARY], places[TEMPORARY].path);
}
