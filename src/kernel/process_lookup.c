/* SPDX-License-Identifier: MIT */
#include "kernel/process_lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/kernel_file.h"

#define COUNT_BATCH 32

static struct process_request request_stat(pid_t pid)
{
	return (struct process_request){ .pid = pid, .files = 1U << PROCESS_STAT };
}

static int parse_stat(const struct process_request *q, struct process_files_stat *ret)
{
	int error = q->error ? q->error : q->errors[PROCESS_STAT];

	if (error)
		return error;
	return process_files_parse_stat(q->text[PROCESS_STAT], ret) ? 0 : -EBADMSG;
}

int process_lookup_owner(struct process_reader *r, pid_t pid, uid_t *ret)
{
	char path[16];
	struct stat st;

	snprintf(path, sizeof path, "%d", pid);
	if (fstatat(process_reader_proc_fd(r), path, &st, 0) < 0)
		return -ENOENT;
	*ret = st.st_uid;
	return 0;
}

bool process_lookup_stat(struct process_reader *r, pid_t pid, struct process_files_stat *ret)
{
	struct process_request q = request_stat(pid);

	process_reader_read(r, &q, 1);
	return parse_stat(&q, ret) == 0;
}

int process_lookup_describe_hang(pid_t pid, struct err *err)
{
	return err_set(err, EAGAIN, "process %d does not answer: reading its files in /proc hangs",
	               (int)pid);
}

int process_lookup_describe_failure(struct process_reader *r, pid_t pid, struct err *err)
{
	struct process_request q = request_stat(pid);

	process_reader_read(r, &q, 1);
	if (q.error == -ETIMEDOUT || q.error == -EBUSY)
		return process_lookup_describe_hang(pid, err);
	return err_set(err, ENOENT, "there is no process with pid %d; list them: ps -e", (int)pid);
}

/* The clock of a process has its CPU time to the ns; stat only whole ticks. */
bool process_lookup_usage(struct process_reader *r, struct proc_id id, struct proc_readings *ret)
{
	static const enum process_file others[] = { PROCESS_STATUS, PROCESS_IO };
	struct process_request q = { .pid = id.pid,
		                     .files = 1U << PROCESS_STAT | 1U << PROCESS_STATM |
		                              1U << PROCESS_STATUS | 1U << PROCESS_IO };
	uint64_t cpu_ns = clock_cpu_of_ns(id.pid);
	struct process_files_stat st;

	process_reader_read(r, &q, 1);
	if (parse_stat(&q, &st) != 0 || (id.start_ticks && st.start_ticks != id.start_ticks) ||
	    st.state == 'Z' || st.state == 'X')
		return false;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		(void)process_files_parse(others[i], q.text[others[i]], &st.r);
	(void)process_files_parse_statm(q.text[PROCESS_STATM], (uint64_t)sysconf(_SC_PAGESIZE),
	                                &st.r);
	if (cpu_ns)
		readings_set(&st.r, PROC_CPU_TIME, cpu_ns);
	*ret = st.r;
	return true;
}

size_t process_lookup_threads(struct process_reader *r, pid_t pid, unsigned files_wanted,
                              struct process_request *ret, size_t max)
{
	cleanup(freep) struct kernel_list *list = xcalloc(1, sizeof *list);
	cleanup(closep) int fd = -1;
	char path[40];
	size_t n = 0;
	int error;
	pid_t tid;

	snprintf(path, sizeof path, "%d/task", pid);
	fd = openat(process_reader_proc_fd(r), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (n < max && (tid = kernel_file_list_next_pid(list, fd, &error)) > 0)
		ret[n++] = (struct process_request){ .pid = pid,
			                             .tid = tid,
			                             .files = files_wanted };
	process_reader_read(r, ret, n);
	return n;
}

#define PARENTS_MAX 64 /* threads that may have children */

/* Each thread has a list of its own. */
static bool has_children(struct process_reader *r, pid_t pid, bool *ret)
{
	struct process_request q[PARENTS_MAX];
	size_t n = process_lookup_threads(r, pid, 1U << PROCESS_CHILDREN, q, PARENTS_MAX);

	if (!n || n == PARENTS_MAX)
		return false;
	*ret = false;
	for (size_t i = 0; i < n; i++) {
		if (q[i].error || q[i].errors[PROCESS_CHILDREN])
			return false;
		*ret |= !scan_at_end(&q[i].text[PROCESS_CHILDREN]);
	}
	return true;
}

bool process_lookup_waited(struct process_reader *r, struct proc_id id, uint64_t *ret_cpu_ns,
                           bool *ret_has_children)
{
	struct process_files_stat st;

	if (!process_lookup_stat(r, id.pid, &st) || st.start_ticks != id.start_ticks)
		return false;
	*ret_cpu_ns = st.waited_cpu_ns;
	return !ret_has_children || has_children(r, id.pid, ret_has_children);
}

void process_lookup_find_start(struct process_reader *r, struct proc_id *id)
{
	struct process_files_stat st;

	if (process_lookup_stat(r, id->pid, &st))
		id->start_ticks = st.start_ticks;
}

/* One that hangs in the kernel has not ended. */
static bool is_there(struct process_reader *r, const struct process_request *q, struct proc_id id,
                     bool even_as_zombie)
{
	struct process_files_stat st;
	int error = parse_stat(q, &st);
	uid_t uid;

	if (error == -ETIMEDOUT || error == -EBUSY)
		return process_lookup_owner(r, id.pid, &uid) == 0;
	if (error || (id.start_ticks && st.start_ticks != id.start_ticks))
		return false;
	return even_as_zombie || (st.state != 'Z' && st.state != 'X') || st.threads > 1;
}

bool process_lookup_exists(struct process_reader *r, struct proc_id id)
{
	struct process_request q = request_stat(id.pid);

	process_reader_read(r, &q, 1);
	return is_there(r, &q, id, true);
}

/* Those that are gone need no thread. */
size_t process_lookup_count_alive(struct process_reader *r, const struct proc_id *ids, size_t n)
{
	struct process_request requests[COUNT_BATCH];
	struct proc_id there[COUNT_BATCH];
	size_t alive = 0, found = 0;
	uid_t uid;

	for (size_t i = 0; i < n; i++) {
		if (process_lookup_owner(r, ids[i].pid, &uid) == 0) {
			requests[found] = request_stat(ids[i].pid);
			there[found++] = ids[i];
		}
		if (found < COUNT_BATCH && i + 1 < n)
			continue;
		process_reader_read(r, requests, found);
		while (found > 0) {
			found--;
			alive += is_there(r, &requests[found], there[found], false);
		}
	}
	return alive;
}

bool process_lookup_is_alive(struct process_reader *r, struct proc_id id)
{
	return process_lookup_count_alive(r, &id, 1);
}
