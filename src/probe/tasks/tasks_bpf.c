/* SPDX-License-Identifier: MIT */
/* All processes in one pass, from a program that the kernel runs on each task: the same sample as
 * the /proc scan gives, at a small part of its cost. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe/bpf/bpf_call.h"
#include "probe/bpf/tasks_load.h"
#include "probe/tasks/command_cache.h"
#include "probe/probe.h"
#include "probe/tasks/task_reader.h"
#include "probe/tasks/task_files.h"

/* The kernel gathers eight pages at a time, whatever we offer. */
#define READ_BYTES (32 << 10)

/* Some kernels leave processes out of the iterator (a guest's init, for one): a process that is named as a
 * parent and was not shown is looked up in /proc. Absence from the iterator is not death. */
#define HIDDEN_MAX 64

struct hidden {
	size_t len;
	pid_t pids[HIDDEN_MAX];
};

struct tasks_bpf {
	struct process_reader *process_reader; /* the host's */
	bool is_exact;                         /* resident memory, summed over all CPUs */
	struct tasks_load *load;
	struct command_cache *commands;
	struct task_reader reader;
	bool lost_some; /* of the last pass: the next one reads every process in full */
	struct hidden hidden;
	_Alignas(8) char bytes[READ_BYTES];
};

static void tasks_bpf_close(void *self_)
{
	struct tasks_bpf *self = self_;

	if (!self)
		return;
	tasks_load_close(self->load);
	command_cache_free(self->commands);
	task_reader_done(&self->reader);
	free(self);
}
DEFINE_CLEANUP(struct tasks_bpf *, tasks_bpf_close)

/* Past a number of CPUs the exact sum would cost more than it is worth. */
static unsigned cpus_to_sum(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	return cpus > 0 && cpus <= TASK_CPUS_MAX ? (unsigned)cpus : 0;
}

static int tasks_bpf_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	cleanup(tasks_bpf_closep) struct tasks_bpf *self = xcalloc(1, sizeof *self);

	if (!env->is_live)
		return err_set(err, ENOTSUP, "BPF sees this machine, not a frozen tree");
	if (bpf_check_rights(err) < 0)
		return -err->code;
	self->process_reader = env->reader;
	/* Only processes that are read in full are looked up there. */
	self->commands = command_cache_new(env->reader, TASK_FULL_EVERY + 1);
	if (tasks_load_open(env->root_fd, cpus_to_sum(), &self->load, err) < 0)
		return -err->code;
	self->reader.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	self->is_exact = cpus_to_sum() > 0;
	*ret_self = TAKE_PTR(self);
	return 0;
}

/* Each read gives what the kernel has buffered, and may end in the middle of a record. */
static int read_tasks(struct tasks_bpf *self, struct sample *out, struct err *err)
{
	cleanup(closep) int fd = tasks_load_iterate(self->load, self->lost_some, err);
	size_t rest = 0;

	if (fd < 0)
		return fd;
	for (;;) {
		ssize_t n = read(fd, self->bytes + rest, sizeof self->bytes - rest);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "read the task iterator: %s", strerror(errno));
		if (n == 0)
			return 0;
		size_t len = rest + (size_t)n,
		       used = task_reader_take(&self->reader, self->bytes, len, out);
		rest = len - used;
		memmove(self->bytes, self->bytes + used, rest);
	}
}

/* ---- processes the iterator does not show ---------------------------------------------------- */

static bool read_from_proc(struct tasks_bpf *self, pid_t pid, struct proc_sample *ret)
{
	struct process_request q = { .pid = pid, .files = TASK_FILES };

	process_reader_read(self->process_reader, &q, 1);
	return task_files_fill(&q, self->reader.page_bytes, ret);
}

static void hidden_add(struct hidden *h, pid_t pid)
{
	for (size_t i = 0; i < h->len; i++)
		if (h->pids[i] == pid)
			return;
	if (h->len < HIDDEN_MAX)
		h->pids[h->len++] = pid;
}

static void find_hidden(const struct sample *out, struct hidden *ret)
{
	pid_t checked = 0; /* siblings often stand side by side */

	vec_each(&out->procs, p) {
		if (p->ppid == checked)
			continue;
		checked = p->ppid;
		if (checked && !sample_find_proc(out, checked))
			hidden_add(ret, checked);
	}
}

/* The last one goes to where it belongs. */
static void place_last(struct sample *out)
{
	struct proc_sample *end = out->procs.at + out->procs.len - 1, *p = end, last = *end;

	while (p > out->procs.at && p[-1].id.pid > last.id.pid)
		p--;
	memmove(p + 1, p, (size_t)(end - p) * sizeof *p);
	*p = last;
}

/* Where all have the parents they had, these are the same processes as last time. */
static void add_hidden(struct tasks_bpf *self, struct sample *out)
{
	struct hidden *hidden = &self->hidden;

	if (self->reader.families_changed ||
	    self->reader.seen + hidden->len != task_reader_last_len(&self->reader)) {
		hidden->len = 0;
		find_hidden(out, hidden);
	}
	for (size_t i = 0; i < hidden->len; i++) {
		struct proc_sample found;

		if (read_from_proc(self, hidden->pids[i], &found) &&
		    task_reader_add(&self->reader, &found, out))
			place_last(out);
	}
}

/* ---- the probe ------------------------------------------------------------------------------- */

/* A process of a job is read in full each time: its figures are added up. */
static void set_focus(struct tasks_bpf *self, const struct sample *out)
{
	tasks_load_clear_focus(self->load);
	vec_each(&out->request.focus, id)
		tasks_load_add_focus(self->load, id->pid);
}

static void fill_commands(struct tasks_bpf *self, struct sample *out)
{
	vec_each(&self->reader.fresh, pid) {
		struct proc_sample *p = sample_find_proc(out, *pid);

		if (p)
			command_cache_fill(self->commands, out, p);
	}
	command_cache_end_tick(self->commands, out);
}

static int tasks_bpf_read(void *self_, struct sample *out, struct err *err)
{
	struct tasks_bpf *self = self_;

	set_focus(self, out);
	task_reader_begin(&self->reader, out);
	out->procs_complete = true;
	if (read_tasks(self, out, err) < 0) {
		self->lost_some = true;
		return -err->code;
	}
	sample_sort_procs(out);
	add_hidden(self, out);
	fill_commands(self, out);
	self->lost_some = self->reader.malformed || self->reader.unknown;
	if (self->lost_some)
		out->procs_complete = false;
	return 0;
}

static void tasks_bpf_health(const void *self_, struct probe_health *ret)
{
	const struct tasks_bpf *self = self_;

	*ret = (struct probe_health){ .state = PROBE_WORKS, .source = "BPF iterator" };
	snprintf(ret->note, sizeof ret->note,
	         "every process in one pass, CPU time to the ns, resident memory %s",
	         self->is_exact ? "exact"
	                        : "to about 64 pages a CPU: there are too many CPUs to sum");
}

const struct probe_ops probe_tasks_bpf = {
	.name = "tasks-bpf",
	.flags = PROBE_NEEDS_BPF | PROBE_SUITS_MANY,
	.open = tasks_bpf_open,
	.read = tasks_bpf_read,
	.health = tasks_bpf_health,
	.close = tasks_bpf_close,
};
