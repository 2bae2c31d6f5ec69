/* SPDX-License-Identifier: MIT */
/* When a command failed: whether a file system that it may have written to is full or read-only. Found at once,
 * because the room may be there again a moment later. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "engine/jobhost_state.h"
#include "kernel/disk_state.h"

#define PATIENCE_NS (300 * NS_PER_MS) /* on a busy machine the thread may need some of it to begin */
#define FULL_BYTES (UINT64_C(1) << 20)
#define FULL_INODES 8
/* File systems stamp files by the clock of the last tick, which is behind: 4 ms is usual, more on a busy virtual machine. */
#define STAMP_LAG_NS (100 * NS_PER_MS)

enum { CWD, OUTPUT, ERRORS, TEMPORARY, NAMED }; /* what stands in the command comes last */

static void report(struct jobhost *h, const struct disk_place *p, const char *name)
{
	if (!p->is_known || !p->total_bytes)
		return;
	if (p->is_read_only)
		jobhost_emit(h, EVENT_DISK, EVENT_DISK_READ_ONLY, 0, name);
	else if (p->free_inodes <= FULL_INODES)
		jobhost_emit(h, EVENT_DISK, EVENT_DISK_INODES, p->free_inodes, name);
	else if (p->free_bytes < FULL_BYTES)
		jobhost_emit(h, EVENT_DISK, EVENT_DISK_FULL, p->free_bytes, name);
}

/* The files that the command names, also within a script: of=/data/out, '>/data/out', open("/data/out"). */
static unsigned add_named(const char *command, struct disk_place places[static DISK_PLACES_MAX])
{
	static const char separators[] = " \t\n'\"`=<>()[]{},;|&";
	unsigned n = NAMED;

	while (*command && n < DISK_PLACES_MAX) {
		size_t len = strcspn(command, separators);
		struct disk_place *p = &places[n];

		if (memchr(command, '/', len) && len < sizeof p->path) {
			*p = (struct disk_place){ .fd = -1, .may_be_new = true };
			memcpy(p->path, command, len);
			n++;
		}
		command += len + strspn(command + len, separators);
	}
	return n;
}

/* A file that was there before may only have been read. */
static bool may_be_written(const struct jobhost *h, const struct disk_place *p)
{
	if (p->is_read_only)
		return p->is_missing;
	return p->is_missing || p->is_directory ||
	       p->modified_ns + STAMP_LAG_NS >= h->watched->row->job.started_ns;
}

void disk_check(struct jobhost *h)
{
	struct disk_place places[DISK_PLACES_MAX] = { [CWD] = { .fd = -1 },
		                                      [OUTPUT] = { .fd = STDOUT_FILENO },
		                                      [ERRORS] = { .fd = STDERR_FILENO },
		                                      [TEMPORARY] = { .fd = -1 } };
	const char *temporary = getenv("TMPDIR");
	unsigned n;

	if (!jobhost_has_failed(h))
		return;
	text_copy(places[CWD].path, sizeof places[CWD].path, ".");
	text_copy(places[TEMPORARY].path, sizeof places[TEMPORARY].path,
	          temporary && *temporary ? temporary : "/tmp");
	n = add_named(jobhost_job(h)->command, places);
	disk_state_read(places, n, PATIENCE_NS);
	report(h, &places[CWD], jobhost_job(h)->cwd);
	report(h, &places[OUTPUT], "standard output");
	report(h, &places[ERRORS], "standard error");
	report(h, &places[TEMPORARY], places[TEMPORARY].path);
	for (unsigned i = NAMED; i < n; i++)
		if (may_be_written(h, &places[i]))
			report(h, &places[i], places[i].path);
}
