/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "probe/tasks/command_cache.h"
#include "kernel/hidepid.h"
#include "kernel/kernel_file.h"
#include "probe/probe.h"
#include "kernel/process_files.h"

/* The lean scan: of each process stat, statm and io are read, and its open files counted; nothing
 * else, and nothing twice. All four come from one open directory, so that a pid reused in between
 * cannot mix two processes. */
struct tasks_proc {
	int proc_fd;
	uint64_t page_bytes;
	bool fds_in_size;  /* st_size of /proc/PID/fd is their number (Linux 6.2) */
	bool is_hidden;    /* others' processes are not shown to us */
	size_t unreadable; /* processes listed but refused, in the last scan */
	size_t no_io;      /* processes whose io was refused, in the last scan */
	bool is_exhausted; /* we ran out of file descriptors or memory in the last scan */
	struct command_cache *commands;
	struct kernel_list pids, tids, fds, threads;
	struct buf children; /* of one thread */
	char text[4096];     /* one file at a time */
};

static void tasks_proc_close(void *self_)
{
	struct tasks_proc *self = self_;

	if (!self)
		return;
	command_cache_close(self->commands);
	buf_done(&self->children);
	closep(&self->proc_fd);
	free(self);
}

DEFINE_CLEANUP(struct tasks_proc *, tasks_proc_close)

/* We have one open file at least, so a kernel that counts says more than 0. A frozen tree is never
 * asked: the size of an ordinary directory is something else. */
static bool does_size_count_fds(int proc_fd)
{
	struct statfs fs;
	struct stat st;

	return fstatfs(proc_fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC &&
	       fstatat(proc_fd, "self/fd", &st, 0) == 0 && st.st_size > 0;
}

static int tasks_proc_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	cleanup(tasks_proc_closep) struct tasks_proc *self = xcalloc(1, sizeof *self);
	struct statfs fs;

	self->proc_fd = openat(env->root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self->proc_fd < 0)
		return err_set(err, errno, "open '/proc': %s", strerror(errno));
	if (env->is_live && (fstatfs(self->proc_fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC))
		return err_set(err, ENODEV, "no procfs is mounted on /proc");
	if (command_cache_open(env->root_fd, &self->commands, err) < 0)
		return -err->code;
	self->children.max = KERNEL_FILE_MAX;
	self->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	self->fds_in_size = does_size_count_fds(self->proc_fd);
	self->is_hidden = hidepid_hides_others(self->proc_fd);
	*ret_self = TAKE_PTR(self);
	return 0;
}

/* The file's text, or an empty one when the process is gone, it is refused (*ret_error) or it makes
 * us wait. */
static struct scan read_text(struct tasks_proc *self, int dir_fd, const char *name, int *ret_error)
{
	ssize_t n = kernel_file_read(dir_fd, name, self->text, sizeof self->text);

	*ret_error = n < 0 ? (int)n : 0;
	return scan_mem(self->text, n > 0 ? (size_t)n : 0);
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

static bool count_fds(struct tasks_proc *self, int dir_fd, uint64_t *ret)
{
	cleanup(closep) int fd = -1;
	struct stat st;
	uint64_t n = 0;
	int error;

	if (self->fds_in_size) {
		if (fstatat(dir_fd, "fd", &st, 0) < 0)
			return false;
		*ret = (uint64_t)st.st_size;
		return true;
	}
	fd = openat(dir_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	kernel_list_begin(&self->fds);
	while (kernel_list_next(&self->fds, fd, &error))
		n++;
	if (error < 0)
		return false;
	*ret = n;
	return true;
}

/* What belongs to the address space and the file table. */
static void read_space(struct tasks_proc *self, int dir_fd, unsigned want,
                       struct proc_readings *ret)
{
	struct process_files_statm statm;
	uint64_t fds;
	int error;

	if (process_files_parse_statm(read_text(self, dir_fd, "statm", &error), &statm)) {
		readings_set(ret, PROC_VMS, statm.size_pages * self->page_bytes);
		readings_set(ret, PROC_RSS, statm.resident_pages * self->page_bytes);
	}
	if (want & WANT_FDS_IO && count_fds(self, dir_fd, &fds))
		readings_set(ret, PROC_FDS, fds);
}

/* A leader that has exited looks like a zombie and has given up its memory and files, while its
 * process lives on in the other threads: the first of them speaks for it. */
static void read_stand_in(struct tasks_proc *self, int dir_fd, unsigned want,
                          struct proc_sample *ret)
{
	cleanup(closep) int tasks_fd = openat(dir_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct kernel_list *list = &self->tids;
	const char *tid;
	int error;

	kernel_list_begin(list);
	while (tasks_fd >= 0 && (tid = kernel_list_next(list, tasks_fd, &error))) {
		cleanup(closep) int thread_fd = openat(tasks_fd, tid,
		                                       O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct process_files_stat st;

		if (thread_fd < 0 ||
		    !process_files_parse_stat(read_text(self, thread_fd, "stat", &error), &st) ||
		    st.state == 'Z' || st.state == 'X')
			continue;
		ret->state = st.state;
		read_space(self, thread_fd, want, &ret->r);
		return;
	}
}

static void read_io(struct tasks_proc *self, int dir_fd, struct proc_readings *ret)
{
	struct process_files_io io;
	int error;

	if (process_files_parse_io(read_text(self, dir_fd, "io", &error), &io)) {
		readings_set(ret, PROC_READ_BYTES, io.read_bytes);
		readings_set(ret, PROC_WRITE_BYTES, io.write_bytes);
	}
	self->no_io += is_refusal(error);
}

static void take_stat(const struct process_files_stat *st, struct proc_sample *ret)
{
	ret->id = (struct proc_id){ st->pid, st->start_ticks };
	ret->ppid = st->ppid;
	ret->state = st->state;
	memcpy(ret->comm, st->comm, sizeof ret->comm);
	readings_set(&ret->r, PROC_CPU_TIME, st->cpu_ticks * NS_PER_TICK);
	readings_set(&ret->r, PROC_THREADS, st->threads);
	readings_set(&ret->r, PROC_MINOR_FAULTS, st->minor_faults);
	readings_set(&ret->r, PROC_MAJOR_FAULTS, st->major_faults);
}

/* The owner of /proc/PID is the effective user, for undumpable processes too (unlike that of the
 * files in it). */
static bool read_process(struct tasks_proc *self, int dir_fd, unsigned want,
                         struct proc_sample *ret, uint64_t *ret_exec_id)
{
	struct process_files_stat st;
	struct stat owner;
	int error;

	if (!process_files_parse_stat(read_text(self, dir_fd, "stat", &error), &st)) {
		self->unreadable += is_refusal(error);
		self->is_exhausted |= is_exhaustion(error);
		return false;
	}
	take_stat(&st, ret);
	*ret_exec_id = st.exec_id;
	if (fstat(dir_fd, &owner) == 0)
		ret->uid = owner.st_uid;
	read_space(self, dir_fd, want, &ret->r);
	if (st.state == 'Z' && st.threads > 1)
		read_stand_in(self, dir_fd, want, ret);
	if (want & WANT_FDS_IO)
		read_io(self, dir_fd, &ret->r);
	return true;
}

static bool is_pid(const char *name)
{
	return *name >= '1' && *name <= '9';
}

/* A process that ends while we look was not there. */
static void scan_process(struct tasks_proc *self, const char *pid, struct sample *out)
{
	cleanup(closep) int dir_fd = openat(self->proc_fd, pid, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct proc_sample found = { 0 }, *p;
	uint64_t exec_id;

	if (dir_fd < 0) {
		self->unreadable += is_refusal(-errno);
		self->is_exhausted |= is_exhaustion(-errno);
		return;
	}
	if (!read_process(self, dir_fd, out->want, &found, &exec_id))
		return;
	p = sample_add_proc(out);
	if (!p)
		return;
	*p = found;
	command_cache_fill(self->commands, out, p, exec_id);
}

static int scan_all(struct tasks_proc *self, struct sample *out, struct err *err)
{
	const char *name;
	int error;

	if (lseek(self->proc_fd, 0, SEEK_SET) < 0)
		return err_set(err, errno, "rewind '/proc': %s", strerror(errno));
	kernel_list_begin(&self->pids);
	while ((name = kernel_list_next(&self->pids, self->proc_fd, &error)))
		if (is_pid(name))
			scan_process(self, name, out);
	if (error < 0)
		return err_set(err, -error, "list '/proc': %s", strerror(-error));
	return 0;
}

static void scan_pid(struct tasks_proc *self, pid_t pid, struct sample *out)
{
	char name[16];

	snprintf(name, sizeof name, "%d", pid);
	scan_process(self, name, out);
}

/* A pid of the focus may have been found in the tree before. */
static void scan_focus(struct tasks_proc *self, struct sample *out)
{
	size_t in_tree = out->procs.len;

	vec_each(&out->focus, id) {
		bool is_there = false;

		for (size_t i = 0; i < in_tree && !is_there; i++)
			is_there = out->procs.at[i].id.pid == id->pid;
		if (!is_there)
			scan_pid(self, id->pid, out);
	}
}

/* /proc/PID/task/TID/children: "812 815 " */
static void scan_children_of_thread(struct tasks_proc *self, pid_t pid, const char *tid,
                                    struct sample *out)
{
	char path[64];
	struct scan s;
	uint64_t child;

	snprintf(path, sizeof path, "%d/task/%.16s/children", pid, tid);
	if (kernel_file_load(self->proc_fd, path, &self->children) < 0)
		return;
	s = kernel_file_text(&self->children);
	while (scan_u64(&s, &child))
		scan_pid(self, (pid_t)child, out);
}

static void scan_children(struct tasks_proc *self, pid_t pid, struct sample *out)
{
	cleanup(closep) int tasks_fd = -1;
	const char *tid;
	char path[32];
	int error;

	snprintf(path, sizeof path, "%d/task", pid);
	tasks_fd = openat(self->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tasks_fd < 0)
		return;
	kernel_list_begin(&self->threads);
	while ((tid = kernel_list_next(&self->threads, tasks_fd, &error)))
		if (is_pid(tid))
			scan_children_of_thread(self, pid, tid, out);
}

/* What is added to the sample is gone through in its turn. */
static void scan_tree(struct tasks_proc *self, struct sample *out)
{
	scan_children(self, out->tree, out);
	for (size_t i = 0; i < out->procs.len; i++)
		scan_children(self, out->procs.at[i].id.pid, out);
}

static int tasks_proc_read(void *self_, struct sample *out, struct err *err)
{
	struct tasks_proc *self = self_;

	self->unreadable = self->no_io = 0;
	self->is_exhausted = false;
	out->procs_complete = true;
	if (!out->focus_only && scan_all(self, out, err) < 0)
		return -err->code;
	if (out->focus_only && out->tree)
		scan_tree(self, out);
	if (out->focus_only)
		scan_focus(self, out);
	command_cache_end_scan(self->commands, out);
	if (self->is_hidden || self->unreadable || self->is_exhausted)
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
		snprintf(ret->note, sizeof ret->note,
		         "I/O of %zu %s may not be read by us: not our user's", self->no_io,
		         self->no_io == 1 ? "process" : "processes");
	}
	if (self->unreadable) {
		ret->state = PROBE_DEGRADED;
		snprintf(ret->note, sizeof ret->note,
		         "%zu %s may not be read by us, and %s missing", self->unreadable,
		         self->unreadable == 1 ? "process" : "processes",
		         self->unreadable == 1 ? "is" : "are");
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
