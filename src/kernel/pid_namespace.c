/* SPDX-License-Identifier: MIT */
#include "kernel/pid_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "kernel/kernel_file.h"

#define INITIAL_INODE 0xEFFFFFFCu /* part of the kernel's interface */

bool pid_namespace_is_initial(int root_fd)
{
	struct stat st;

	return fstatat(root_fd, "proc/self/ns/pid", &st, 0) == 0 && st.st_ino == INITIAL_INODE;
}

/* A process as those in its own namespace count it. */
struct counted {
	unsigned depth; /* of its namespace below ours: 0 is ours */
	uint64_t pid;
};

static struct process_request request_for(pid_t pid)
{
	return (struct process_request){
		.pid = pid, .files = 1U << PROCESS_STATUS | 1U << PROCESS_PID_NAMESPACE
	};
}

/* NSpid:	4711	12 */
static bool parse_counts(const struct process_request *q, struct counted *ret)
{
	struct scan all = q->text[PROCESS_STATUS], line;

	*ret = (struct counted){ 0 };
	while (!q->error && scan_line(&all, &line)) {
		if (!scan_lit(&line, "NSpid:"))
			continue;
		if (!scan_u64(&line, &ret->pid))
			return false;
		while (scan_u64(&line, &ret->pid))
			ret->depth++;
		return true;
	}
	return false;
}

struct wanted {
	struct counted as;
	char space[65]; /* its namespace; "": we may not know */
};

static bool is_meant(const struct process_request *q, const struct wanted *wanted)
{
	struct counted one;

	return parse_counts(q, &one) && one.depth == wanted->as.depth &&
	       one.pid == wanted->as.pid && scan_eq(&q->text[PROCESS_PID_NAMESPACE], wanted->space);
}

static pid_t search_batch(struct process_reader *reader, struct process_request *requests, size_t n,
                          const struct wanted *wanted)
{
	process_reader_read(reader, requests, n);
	for (size_t i = 0; i < n; i++)
		if (is_meant(&requests[i], wanted))
			return requests[i].pid;
	return 0;
}

/* 0: there is none. */
static pid_t search(int root_fd, struct process_reader *reader, const struct wanted *wanted)
{
	cleanup(closep) int fd = openat(root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(freep) struct kernel_list *list = xmalloc(sizeof *list);
	struct process_request requests[PROCESS_READER_BATCH];
	pid_t pid, found = 0;
	size_t n = 0;
	int error;

	kernel_file_list_begin(list);
	while (fd >= 0 && !found && (pid = kernel_file_list_next_pid(list, fd, &error))) {
		requests[n++] = request_for(pid);
		if (n < PROCESS_READER_BATCH)
			continue;
		found = search_batch(reader, requests, n, wanted);
		n = 0;
	}
	return found ? found : search_batch(reader, requests, n, wanted);
}

pid_t pid_namespace_inner(struct process_reader *reader, pid_t pid)
{
	struct process_request q = request_for(pid);
	struct counted counted;

	process_reader_read(reader, &q, 1);
	return parse_counts(&q, &counted) ? (pid_t)counted.pid : 0;
}

int pid_namespace_find(int root_fd, struct process_reader *reader, pid_t caller, pid_t pid,
                       pid_t *ret, struct err *err)
{
	struct process_request q = request_for(caller);
	struct wanted wanted;
	struct scan space;

	*ret = pid;
	process_reader_read(reader, &q, 1);
	if (!parse_counts(&q, &wanted.as) || wanted.as.depth == 0)
		return 0;
	space = q.text[PROCESS_PID_NAMESPACE];
	snprintf(wanted.space, sizeof wanted.space, "%.*s", (int)scan_left(&space), space.p);
	wanted.as.pid = (uint64_t)pid;
	*ret = wanted.space[0] ? search(root_fd, reader, &wanted) : 0;
	if (!*ret)
		return err_set(err, ENOENT,
		               "there is no process with pid %d in the caller's pid namespace",
		               pid);
	return 0;
}
