/* SPDX-License-Identifier: MIT */
#include "probe/tasks/command_cache.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/redact.h"
#include "model/process_slots.h"

#define EMPTY_TRIES                                                                                \
	3 /* a process in the middle of an exec has an empty command line for a moment */

/* Many are read at the first tick only: room for more of them would lie idle afterwards. */
#define BATCH 128
static_assert(BATCH <= PROCESS_READER_BATCH, "the reader takes them at once");

/* A secret cut in two at COMMAND_MAX must still be recognised, so more is read than is kept. */
static_assert(PROCESS_TEXT_MAX > 2 * COMMAND_MAX, "more is read than is kept");

struct entry {
	uint64_t exec_id;
	uint16_t len;
	uint8_t empty_tries;
	char comm[COMM_LEN];
	char *text; /* owned; NULL: not read yet */
};

struct pending {
	pid_t pid;
	struct entry *entry;
};

struct command_cache {
	struct process_reader *reader;
	struct process_slots entries;
	VEC(struct pending) pending; /* to be read in this tick */
};

static void release_entry(void *entry)
{
	free(((struct entry *)entry)->text);
}

struct command_cache *command_cache_new(struct process_reader *reader, uint32_t memory)
{
	struct command_cache *c = xcalloc(1, sizeof *c);

	c->reader = reader;
	c->entries = (struct process_slots){ .entry_bytes = sizeof(struct entry),
		                             .release = release_entry,
		                             .memory = memory };
	return c;
}

void command_cache_free(struct command_cache *c)
{
	if (!c)
		return;
	process_slots_done(&c->entries);
	vec_done(&c->pending);
	free(c);
}

static size_t bracket_comm(const char *comm, char to[COMMAND_MAX])
{
	int n = snprintf(to, COMMAND_MAX, "[%.*s]", COMM_LEN - 1, comm);

	return n > 0 ? (size_t)n : 0;
}

/* 0 when the process has none: a kernel thread, a zombie, one that wiped it, one that is gone. */
static size_t read_arguments(const struct process_request *q, char to[COMMAND_MAX])
{
	struct scan text = q->text[PROCESS_CMDLINE];
	size_t n = scan_left(&text), len = n ? redact_command(text.p, n, to, COMMAND_MAX) : 0;

	return len && n == PROCESS_TEXT_MAX ? text_mark_cut(to, len, COMMAND_MAX) : len;
}

size_t command_from_request(const struct process_request *q, const char *comm, char to[COMMAND_MAX])
{
	size_t len = read_arguments(q, to);

	return len ? len : bracket_comm(comm, to);
}

static bool is_stale(const struct entry *e, const struct proc_sample *p)
{
	if (!e->text || memcmp(e->comm, p->comm, COMM_LEN) != 0)
		return true;
	if (p->exec_id && e->exec_id != p->exec_id)
		return true;
	return e->empty_tries && e->empty_tries < EMPTY_TRIES;
}

static void keep(struct entry *e, const struct process_request *q, const struct proc_sample *p)
{
	char text[COMMAND_MAX];
	size_t len = read_arguments(q, text);
	bool is_kernel_thread = readings_or(&p->r, PROC_VMS, 0) == 0;

	e->empty_tries = len ? 0 : is_kernel_thread ? EMPTY_TRIES : (uint8_t)(e->empty_tries + 1);
	if (!len)
		len = bracket_comm(p->comm, text);
	e->text = xreallocarray(e->text, len + 1, 1);
	memcpy(e->text, text, len);
	e->len = (uint16_t)len;
}

static bool read_later(struct command_cache *c, struct entry *e, const struct proc_sample *p)
{
	struct pending *q = vec_push(&c->pending, PROCS_MAX);

	if (!q)
		return false;
	*q = (struct pending){ .pid = p->id.pid, .entry = e };
	memcpy(e->comm, p->comm, COMM_LEN);
	e->exec_id = p->exec_id;
	return true;
}

void command_cache_fill(struct command_cache *c, struct sample *out, struct proc_sample *p)
{
	struct entry *e = process_slots_see(&c->entries, p->id);
	char text[COMMAND_MAX];

	/* A zombie has no arguments any more, whether we knew them while it lived or not. */
	if (!e || p->state == 'Z' || p->state == 'X')
		p->command = sample_add_text(out, text, bracket_comm(p->comm, text));
	else if (!is_stale(e, p) || !read_later(c, e, p))
		p->command = sample_add_text(out, e->text, e->text ? e->len : 0);
}

/* A batch of them, into the sample. */
static void read_commands(struct command_cache *c, const struct pending *pending, size_t n,
                          struct sample *out)
{
	struct process_request requests[BATCH];

	for (size_t i = 0; i < n; i++)
		requests[i] = (struct process_request){ .pid = pending[i].pid,
			                                .files = 1 << PROCESS_CMDLINE };
	process_reader_read(c->reader, requests, n);
	for (size_t i = 0; i < n; i++) {
		struct entry *e = pending[i].entry;
		struct proc_sample *p = sample_find_proc(out, pending[i].pid);

		if (!p)
			continue;
		keep(e, &requests[i], p);
		p->command = sample_add_text(out, e->text, e->len);
	}
}

void command_cache_end_tick(struct command_cache *c, struct sample *out)
{
	sample_sort_procs(out);
	for (size_t i = 0; i < c->pending.len; i += BATCH)
		read_commands(c, c->pending.at + i, MIN(c->pending.len - i, (size_t)BATCH), out);
	vec_relax(&c->pending);
	process_slots_end_tick(&c->entries);
}
