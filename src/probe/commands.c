/* SPDX-License-Identifier: MIT */
#include "probe/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "model/redact.h"
#include "probe/kfile.h"
#include "probe/roster.h"

#define RAW_MAX 4096      /* read of a command line: a secret cut in two at COMMAND_MAX must still be recognised */
#define EMPTY_TRIES 3     /* a process in the middle of an exec has an empty command line for a moment */

struct entry {
	uint64_t exec_id;
	uint16_t len;
	uint8_t  empty_tries;
	char     comm[COMM_LEN];
	char    *text; /* owned; NULL: not read yet */
};

struct commands {
	int               proc_fd;
	struct roster     roster;
	VEC(struct entry) entries; /* by seat */
};

int commands_open(int root_fd, struct commands **ret, struct err *err)
{
	cleanup(commands_closep) struct commands *c = xcalloc(1, sizeof *c);

	c->proc_fd = openat(root_fd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c->proc_fd < 0)
		return err_set(err, errno, "open '/proc': %s", strerror(errno));
	*ret = TAKE_PTR(c);
	return 0;
}

void commands_close(struct commands *c)
{
	if (!c)
		return;
	vec_each(&c->entries, e)
		free(e->text);
	vec_done(&c->entries);
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

/* 0 when the process has none: a kernel thread, a zombie, one that wiped it, one that is gone. */
static size_t read_arguments(int proc_fd, pid_t pid, char to[COMMAND_MAX])
{
	char path[32], raw[RAW_MAX];
	ssize_t n;

	snprintf(path, sizeof path, "%d/cmdline", pid);
	n = kfile_read(proc_fd, path, raw, sizeof raw);
	return n > 0 ? redact_command(raw, (size_t)n, to, COMMAND_MAX) : 0;
}

size_t command_read(int proc_fd, pid_t pid, const char *comm, char to[COMMAND_MAX])
{
	size_t len = read_arguments(proc_fd, pid, to);

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

static void refresh(struct commands *c, struct entry *e, const struct proc_sample *p, uint64_t exec_id)
{
	char text[COMMAND_MAX];
	size_t len = read_arguments(c->proc_fd, p->id.pid, text);
	bool is_kernel_thread = readings_or(&p->r, PROC_VMS, 0) == 0;

	e->empty_tries = len ? 0 : is_kernel_thread ? EMPTY_TRIES : (uint8_t)(e->empty_tries + 1);
	if (!len)
		len = put_comm(p->comm, text);
	e->text = xreallocarray(e->text, len + 1, 1);
	memcpy(e->text, text, len);
	e->len = (uint16_t)len;
	memcpy(e->comm, p->comm, COMM_LEN);
	e->exec_id = exec_id;
}

void commands_fill(struct commands *c, struct sample *out, struct proc_sample *p, uint64_t exec_id)
{
	struct entry *e = find_or_add(c, p->id);
	char text[COMMAND_MAX];

	/* A zombie has no arguments any more, whether we knew them while it lived or not. */
	if (!e || p->state == 'Z' || p->state == 'X') {
		p->command = sample_add_text(out, text, put_comm(p->comm, text));
		return;
	}
	if (is_stale(e, p, exec_id))
		refresh(c, e, p, exec_id);
	p->command = sample_add_text(out, e->text, e->len);
}

static void forget(void *self, uint32_t seat)
{
	struct commands *c = self;

	free(c->entries.at[seat].text);
	c->entries.at[seat] = (struct entry){ 0 };
}

void commands_end_scan(struct commands *c)
{
	roster_end_scan(&c->roster, forget, c);
}
