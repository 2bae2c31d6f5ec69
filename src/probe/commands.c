/* SPDX-License-Identifier: MIT */
#include "probe/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/redact.h"
#include "probe/roster.h"

#define EMPTY_TRIES                                                                                \
	3 /* a process in the middle of an exec has an empty command line for a moment */
#define PATIENCE_MS 50

/* A secret cut in two at COMMAND_MAX must still be recognised, so more is read than is kept. */
static_assert(PATIENT_BYTES > 2 * COMMAND_MAX, "more is read than is kept");

struct entry {
	uint64_t exec_id;
	uint16_t len;
	uint8_t empty_tries;
	char comm[COMM_LEN];
	char *text; /* owned; NULL: not read yet */
};

struct question {
	pid_t pid;
	uint32_t seat;
};

struct commands {
	int proc_fd;
	struct patient *patient;
	struct roster roster;
	VEC(struct entry) entries;      /* by seat */
	VEC(struct question) questions; /* of this scan */
};

int commands_open(int root_fd, struct commands **ret, struct err *err)
{
	cleanup(commands_closep) struct commands *c = xcalloc(1, sizeof *c);

	c->proc_fd = openat(root_fd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c->proc_fd < 0)
		return err_set(err, errno, "open '/proc': %s", strerror(errno));
	c->patient = patient_new(c->proc_fd, PATIENCE_MS);
	*ret = TAKE_PTR(c);
	return 0;
}

void commands_close(struct commands *c)
{
	if (!c)
		return;
	vec_each(&c->entries, e)
		free(e->text);
	patient_free(c->patient);
	vec_done(&c->entries);
	vec_done(&c->questions);
	roster_done(&c->roster);
	closep(&c->proc_fd);
	free(c);
}

size_t commands_len(const struct commands *c)
{
	return roster_len(&c->roster);
}

static size_t put_comm(const char *comm, char to[COMMAND_MAX])
{
	int n = snprintf(to, COMMAND_MAX, "[%.*s]", COMM_LEN - 1, comm);

	return n > 0 ? (size_t)n : 0;
}

static struct patient_file file_of(pid_t pid)
{
	struct patient_file f = { 0 };

	snprintf(f.path, sizeof f.path, "%d/cmdline", pid);
	return f;
}

/* 0 when the process has none: a kernel thread, a zombie, one that wiped it, one that is gone. */
static size_t take_arguments(const struct patient_file *f, char to[COMMAND_MAX])
{
	size_t len = f->len > 0 ? redact_command(f->bytes, (size_t)f->len, to, COMMAND_MAX) : 0;

	return len && f->len == PATIENT_BYTES ? text_mark_cut(to, len, COMMAND_MAX) : len;
}

size_t command_read(struct patient *patient, pid_t pid, const char *comm, char to[COMMAND_MAX])
{
	struct patient_file file = file_of(pid);
	size_t len;

	patient_read(patient, &file, 1);
	len = take_arguments(&file, to);
	return len ? len : put_comm(comm, to);
}

static struct entry *find_or_add(struct commands *c, struct proc_id id)
{
	bool is_new;
	uint32_t seat = roster_see(&c->roster, id, &is_new);

	while (seat != ROSTER_NONE && c->entries.len <= seat)
		if (!vec_push(&c->entries, PROCS_MAX))
			return NULL;
	return seat == ROSTER_NONE ? NULL : &c->entries.at[seat];
}

static bool is_stale(const struct entry *e, const struct proc_sample *p, uint64_t exec_id)
{
	if (!e->text || memcmp(e->comm, p->comm, COMM_LEN) != 0)
		return true;
	if (exec_id && e->exec_id != exec_id)
		return true;
	return e->empty_tries && e->empty_tries < EMPTY_TRIES;
}

static void keep(struct entry *e, const struct patient_file *f, const struct proc_sample *p)
{
	char text[COMMAND_MAX];
	size_t len = take_arguments(f, text);
	bool is_kernel_thread = readings_or(&p->r, PROC_VMS, 0) == 0;

	e->empty_tries = len ? 0 : is_kernel_thread ? EMPTY_TRIES : (uint8_t)(e->empty_tries + 1);
	if (!len)
		len = put_comm(p->comm, text);
	e->text = xreallocarray(e->text, len + 1, 1);
	memcpy(e->text, text, len);
	e->len = (uint16_t)len;
}

static bool ask_later(struct commands *c, struct entry *e, const struct proc_sample *p,
                      uint64_t exec_id)
{
	struct question *q = vec_push(&c->questions, PROCS_MAX);

	if (!q)
		return false;
	*q = (struct question){ .pid = p->id.pid, .seat = (uint32_t)(e - c->entries.at) };
	memcpy(e->comm, p->comm, COMM_LEN);
	e->exec_id = exec_id;
	return true;
}

void commands_fill(struct commands *c, struct sample *out, struct proc_sample *p, uint64_t exec_id)
{
	struct entry *e = find_or_add(c, p->id);
	char text[COMMAND_MAX];

	/* A zombie has no arguments any more, whether we knew them while it lived or not. */
	if (!e || p->state == 'Z' || p->state == 'X')
		p->command = sample_add_text(out, text, put_comm(p->comm, text));
	else if (!is_stale(e, p, exec_id) || !ask_later(c, e, p, exec_id))
		p->command = sample_add_text(out, e->text, e->text ? e->len : 0);
}

/* A batch of questions, and the answers into the sample. */
static void ask(struct commands *c, const struct question *questions, size_t n, struct sample *out)
{
	struct patient_file files[PATIENT_BATCH];

	for (size_t i = 0; i < n; i++)
		files[i] = file_of(questions[i].pid);
	patient_read(c->patient, files, n);
	for (size_t i = 0; i < n; i++) {
		struct entry *e = &c->entries.at[questions[i].seat];
		struct proc_sample *p = sample_find_proc(out, questions[i].pid);

		if (!p)
			continue;
		keep(e, &files[i], p);
		p->command = sample_add_text(out, e->text, e->len);
	}
}

static void forget(void *self, uint32_t seat)
{
	struct commands *c = self;

	free(c->entries.at[seat].text);
	c->entries.at[seat] = (struct entry){ 0 };
}

static void move(void *self, uint32_t from, uint32_t to)
{
	struct commands *c = self;

	c->entries.at[to] = c->entries.at[from];
	c->entries.at[from] = (struct entry){ 0 };
}

static const struct roster_ops by_seat = { .forget = forget, .move = move };

void commands_end_scan(struct commands *c, struct sample *out)
{
	sample_sort_procs(out);
	for (size_t i = 0; i < c->questions.len; i += PATIENT_BATCH)
		ask(c, c->questions.at + i, MIN(c->questions.len - i, (size_t)PATIENT_BATCH), out);
	vec_relax(&c->questions);
	roster_end_scan(&c->roster, &by_seat, c);
	c->entries.len = MIN(c->entries.len, roster_seats(&c->roster));
	vec_shrink(&c->entries);
}
