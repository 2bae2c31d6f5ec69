/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "probe/tasks/command_cache.h"
#include "kernel/hidepid.h"
#include "kernel/kernel_file.h"
#include "probe/probe.h"
#include "kernel/process_reader.h"
#include "probe/tasks/task_files.h"

/* The lean scan: of each process stat, statm and io are read, and its open files counted; nothing
 * else, and nothing twice. */
struct tasks_proc {
	int proc_fd;
	uint64_t page_bytes;
	bool is_hidden;    /* others' processes are not shown to us */
	size_t unreadable; /* processes listed but refused, in the last scan */
	size_t no_io;      /* processes whose io was refused, in the last scan */
	size_t stale;      /* processes that hang: shown as they were read last */
	size_t unknown;    /* processes that hang and were never read */
	bool is_exhausted; /* we ran out of file descriptors or memory in the last scan */
	struct process_reader *reader; /* the host's */
	struct command_cache *commands;
	struct sample last; /* its processes alone */
	struct process_request requests[PROCESS_READER_BATCH];
	size_t request_count;
	struct kernel_list pids, tids, threads;
	struct buf children; /* of one thread */
};

static void tasks_proc_close(void *self_)
{
	struct tasks_proc *self = self_;

	if (!self)
		return;
	command_cache_free(self->commands);
	buf_done(&self->children);
	sample_done(&self->last);
	closep(&self->proc_fd);
	free(self);
}

DEFINE_CLEANUP(struct tasks_proc *, tasks_proc_close)

static int tasks_proc_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	cleanup(tasks_proc_closep) struct tasks_proc *self = xcalloc(1, sizeof *self);
	struct statfs fs;

	self->proc_fd = openat(env->root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self->proc_fd < 0)
		return err_set(err, errno, "open '/proc': %s", strerror(errno));
	if (env->is_live && (fstatfs(self->proc_fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC))
		return err_set(err, ENODEV, "no procfs is mounted on /proc");
	if (env->is_live && !kernel_file_is_our_proc(self->proc_fd))
		return err_set(err, ENODEV, "procfs of another pid namespace");
	self->reader = env->reader;
	self->commands = command_cache_new(env->reader, 0);
	self->children.max = KERNEL_FILE_MAX;
	self->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	self->is_hidden = hidepid_hides_others(self->proc_fd);
	*ret_self = TAKE_PTR(self);
	return 0;
}

/* Our own lack, not the process's end: all that follows would be missing too. */
static bool is_exhaustion(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

static bool is_refusal(int error)
{
	return error == -EACCES || error == -EPERM;
}

/* A leader that has exited looks like a zombie, while its process lives on in the other threads: the
 * first of them is read in its place. */
static void read_stand_in(struct tasks_proc *self, unsigned want, struct proc_sample *ret)
{
	cleanup(closep) int tasks_fd = -1;
	struct kernel_list *list = &self->tids;
	char path[32];
	pid_t tid;
	int error;

	snprintf(path, sizeof path, "%d/task", ret->id.pid);
	tasks_fd = openat(self->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	kernel_file_list_begin(list);
	while (tasks_fd >= 0 && (tid = kernel_file_list_next_pid(list, tasks_fd, &error))) {
		struct process_request q = { .pid = ret->id.pid,
			                     .tid = tid,
			                     .files = TASK_FILES,
			                     .counts_fds = want & WANT_FDS_IO };

		process_reader_read(self->reader, &q, 1);
		if (task_files_fill_thread(&q, self->page_bytes, ret))
			return;
	}
}

/* One that hangs is there all the same: with what was read of it last. */
static bool recall(struct tasks_proc *self, pid_t pid, struct proc_sample *ret)
{
	const struct proc_sample *p = sample_find_proc(&self->last, pid);

	self->stale += p != NULL;
	self->unknown += p == NULL;
	if (!p)
		return false;
	*ret = *p;
	ret->command = (struct text_ref){ 0 };
	return true;
}

static bool take_process(struct tasks_proc *self, const struct process_request *q,
                         struct proc_sample *ret)
{
	int error = q->error ? q->error : q->errors[PROCESS_STAT];

	if (error == -ETIMEDOUT || error == -EBUSY)
		return recall(self, q->pid, ret);
	self->unreadable += is_refusal(error);
	self->is_exhausted |= is_exhaustion(error);
	self->no_io += is_refusal(q->errors[PROCESS_IO]);
	return task_files_fill(q, self->page_bytes, ret);
}

/* The requests gathered so far. A process that ends meanwhile was not there. */
static void read_requests(struct tasks_proc *self, struct sample *out)
{
	size_t first = out->procs.len;

	process_reader_read(self->reader, self->requests, self->request_count);
	for (size_t i = 0; i < self->request_count; i++) {
		struct proc_sample found, *p;

		if (!take_process(self, &self->requests[i], &found))
			continue;
		p = sample_add_proc(out);
		if (!p)
			break;
		*p = found;
		command_cache_fill(self->commands, out, p);
	}
	self->request_count = 0;
	/* These are requests of their own, and the texts of the others are no longer needed. */
	for (size_t i = first; i < out->procs.len; i++)
		if (out->procs.at[i].state == 'Z' &&
		    readings_or(&out->procs.at[i].r, PROC_THREADS, 1) > 1)
			read_stand_in(self, out->request.want, &out->procs.at[i]);
}

static void scan_pid(struct tasks_proc *self, pid_t pid, struct sample *out)
{
	bool wants_io = out->request.want & WANT_FDS_IO;

	self->requests[self->request_count++] = (struct process_request){
		.pid = pid,
		.files = TASK_FILES | (wants_io ? 1U << PROCESS_IO : 0),
		.counts_fds = wants_io,
	};
	if (self->request_count == PROCESS_READER_BATCH)
		read_requests(self, out);
}

static int scan_all(struct tasks_proc *self, struct sample *out, struct err *err)
{
	pid_t pid;
	int error;

	if (lseek(self->proc_fd, 0, SEEK_SET) < 0)
		return err_set(err, errno, "rewind '/proc': %s", strerror(errno));
	kernel_file_list_begin(&self->pids);
	while ((pid = kernel_file_list_next_pid(&self->pids, self->proc_fd, &error)))
		scan_pid(self, pid, out);
	read_requests(self, out);
	if (error < 0)
		return err_set(err, -error, "list '/proc': %s", strerror(-error));
	return 0;
}

/* A pid of the focus may have been found in the tree before. */
static void scan_focus(struct tasks_proc *self, struct sample *out)
{
	size_t in_tree = out->procs.len;

	vec_each(&out->request.focus, id) {
		bool is_there = false;

		for (size_t i = 0; i < in_tree && !is_there; i++)
			is_there = out->procs.at[i].id.pid == id->pid;
		if (!is_there)
			scan_pid(self, id->pid, out);
	}
	read_requests(self, out);
}

/* /proc/PID/task/TID/children: "812 815 ". Read in place: kernel/process_peek.h has the reasons. */
static void scan_children_of_thread(struct tasks_proc *self, pid_t pid, pid_t tid,
                                    struct sample *out)
{
	char path[64];
	struct scan s;
	uint64_t child;

	snprintf(path, sizeof path, "%d/task/%d/children", pid, tid);
	if (kernel_file_load(self->proc_fd, path, &self->children) < 0)
		return;
	s = kernel_file_text(&self->children);
	while (scan_u64(&s, &child))
		scan_pid(self, (pid_t)child, out);
}

static void scan_children(struct tasks_proc *self, pid_t pid, struct sample *out)
{
	cleanup(closep) int tasks_fd = -1;
	char path[32];
	pid_t tid;
	int error;

	snprintf(path, sizeof path, "%d/task", pid);
	tasks_fd = openat(self->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tasks_fd < 0)
		return;
	kernel_file_list_begin(&self->threads);
	while ((tid = kernel_file_list_next_pid(&self->threads, tasks_fd, &error)))
		scan_children_of_thread(self, pid, tid, out);
	read_requests(self, out);
}

/* Processes that are added to the sample meanwhile are visited in their turn. */
static void scan_tree(struct tasks_proc *self, struct sample *out)
{
	scan_children(self, out->request.tree, out);
	for (size_t i = 0; i < out->procs.len; i++)
		scan_children(self, out->procs.at[i].id.pid, out);
}

static int tasks_proc_read(void *self_, struct sample *out, struct err *err)
{
	struct tasks_proc *self = self_;
	uint64_t begin_ns = process_reader_cpu_ns(self->reader);

	self->unreadable = self->no_io = self->stale = self->unknown = 0;
	self->is_exhausted = false;
	out->procs_complete = true;
	if (!out->request.focus_only && scan_all(self, out, err) < 0)
		return -err->code;
	if (out->request.focus_only && out->request.tree)
		scan_tree(self, out);
	if (out->request.focus_only)
		scan_focus(self, out);
	command_cache_end_tick(self->commands, out);
	vec_copy(&self->last.procs, &out->procs);
	out->aside_cpu_ns += process_reader_cpu_ns(self->reader) - begin_ns;
	if (self->is_hidden || self->unreadable || self->unknown || self->is_exhausted)
		out->procs_complete = false;
	if (self->is_exhausted)
		return err_set(err, EMFILE,
		               "read '/proc': no file descriptor or memory is left for us");
	return 0;
}

static void tasks_proc_health(const void *self_, struct probe_health *ret)
{
	const struct tasks_proc *self = self_;

	*ret = (struct probe_health){ .state = PROBE_WORKS, .source = "lean scan of /proc" };
	snprintf(ret->note, sizeof ret->note,
	         "stat, statm, io and number of files of each process; CPU time to 10 ms");
	if (self->no_io) {
		ret->state = PROBE_DEGRADED;
		snprintf(ret->note, sizeof ret->note, "I/O of %zu %s of other users cannot be read",
		         self->no_io, self->no_io == 1 ? "process" : "processes");
	}
	if (self->unreadable) {
		ret->state = PROBE_DEGRADED;
		snprintf(ret->note, sizeof ret->note, "%zu %s cannot be read, and %s missing",
		         self->unreadable, self->unreadable == 1 ? "process" : "processes",
		         self->unreadable == 1 ? "is" : "are");
	}
	if (self->stale || self->unknown) {
		ret->state = PROBE_DEGRADED;
		snprintf(ret->note, sizeof ret->note,
		         "processes that do not answer: %zu shown as last read, %zu missing",
		         self->stale, self->unknown);
	}
	if (self->is_hidden) {
		ret->state = PROBE_DEGRADED;
		snprintf(ret->note, sizeof ret->note,
		         "processes of other users are missing: /proc is mounted with hidepid");
	}
}

const struct probe_ops probe_tasks_proc = {
	.name = "tasks-proc",
	.flags = PROBE_PAYS_PER_FILE,
	.open = tasks_proc_open,
	.read = tasks_proc_read,
	.health = tasks_proc_health,
	.close = tasks_proc_close,
};
