/* SPDX-License-Identifier: MIT */
#include "kernel/blocked_target.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/syscall_signature.h"

#define POLL_MAX (PROCESS_MEMORY_MAX / sizeof(struct pollfd)) /* that are read */
#define SELECT_MAX ((size_t)PROCESS_MEMORY_MAX * 8)

/* ---- what is read ---------------------------------------------------------------------------- */

/* Up to `max` bytes, or up to where the memory ends. Valid until the next read. */
static struct scan read_memory(struct process_reader *r, pid_t pid, uint64_t address, size_t max)
{
	struct process_request q = { .pid = pid,
		                     .files = 1U << PROCESS_MEMORY,
		                     .offset = address };
	struct scan text;

	if (!address || address > INT64_MAX)
		return scan_mem("", 0);
	process_reader_read(r, &q, 1);
	text = q.text[PROCESS_MEMORY];
	return q.error ? scan_mem("", 0) : scan_mem(text.p, MIN(scan_left(&text), max));
}

static struct scan read_file(struct process_reader *r, pid_t pid, enum process_file file, int fd)
{
	struct process_request q = { .pid = pid, .files = 1U << file, .fd = fd };

	process_reader_read(r, &q, 1);
	return q.error ? scan_mem("", 0) : q.text[file];
}

/* ---- open files ------------------------------------------------------------------------------ */

static void add_file(struct blocked_files *to, int fd, bool writes)
{
	if (to->n == 0)
		to->writes = writes;
	if (to->n < BLOCKED_FILES_NAMED)
		to->fds[to->n] = fd;
	to->n++;
}

void blocked_target_parse_poll(struct scan bytes, struct blocked_files *ret)
{
	struct pollfd p;

	*ret = (struct blocked_files){ 0 };
	for (; scan_left(&bytes) >= sizeof p; bytes.p += sizeof p) {
		memcpy(&p, bytes.p, sizeof p);
		if (p.fd >= 0)
			add_file(ret, p.fd, !(p.events & POLLIN) && p.events & POLLOUT);
	}
}

static bool has_bit(struct scan set, size_t bit)
{
	return bit / 8 < scan_left(&set) && (unsigned char)set.p[bit / 8] >> bit % 8 & 1;
}

void blocked_target_parse_sets(const struct scan sets[static 3], size_t nfds,
                               struct blocked_files *ret)
{
	*ret = (struct blocked_files){ 0 };
	for (size_t fd = 0; fd < nfds; fd++) {
		bool reads = has_bit(sets[0], fd), writes = has_bit(sets[1], fd);

		if (reads || writes || has_bit(sets[2], fd))
			add_file(ret, (int)fd, writes && !reads);
	}
}

/* tfd:        5 events:       19 data:                5  pos:0 ino:2a sdev:f */
void blocked_target_parse_epoll(struct scan fdinfo, struct blocked_files *ret)
{
	struct scan line;
	uint64_t fd, events;

	*ret = (struct blocked_files){ 0 };
	while (scan_line(&fdinfo, &line)) {
		if (!scan_lit(&line, "tfd:") || !scan_u64(&line, &fd) || fd > INT32_MAX)
			continue;
		scan_blanks(&line);
		if (scan_lit(&line, "events:") && scan_hex(&line, &events))
			add_file(ret, (int)fd, !(events & POLLIN) && events & POLLOUT);
	}
}

static bool find_polled(struct process_reader *r, pid_t pid, const struct blocked_args *call,
                        struct blocked_files *ret)
{
	uint64_t nfds = call->args[1];
	size_t seen = MIN(nfds, (uint64_t)POLL_MAX);
	struct scan bytes = read_memory(r, pid, call->args[0], seen * sizeof(struct pollfd));

	if (scan_left(&bytes) < seen * sizeof(struct pollfd))
		return false;
	blocked_target_parse_poll(bytes, ret);
	ret->n += nfds - seen;
	return true;
}

/* Each set is copied: the next read takes its place. */
static bool find_selected(struct process_reader *r, pid_t pid, const struct blocked_args *call,
                          struct blocked_files *ret)
{
	char kept[3][PROCESS_MEMORY_MAX];
	struct scan sets[3];
	size_t nfds = (size_t)MIN(call->args[0], (uint64_t)SELECT_MAX), bytes = (nfds + 7) / 8;

	for (size_t i = 0; i < 3; i++) {
		struct scan set = read_memory(r, pid, call->args[1 + i], bytes);

		if (call->args[1 + i] && scan_left(&set) < bytes)
			return false;
		memcpy(kept[i], set.p, scan_left(&set));
		sets[i] = scan_mem(kept[i], scan_left(&set));
	}
	blocked_target_parse_sets(sets, nfds, ret);
	return true;
}

bool blocked_target_files(struct process_reader *r, pid_t pid, const struct blocked_args *call,
                          const char *name, struct blocked_files *ret)
{
	struct scan fdinfo;

	if (strstr(name, "select")) /* the oldest one has its arguments in memory */
		return (call->abi != SYSCALL_IA32 || strcmp(name, "select") != 0) &&
		       find_selected(r, pid, call, ret);
	if (strncmp(name, "epoll", 5) != 0)
		return strstr(name, "poll") && find_polled(r, pid, call, ret);
	fdinfo = read_file(r, pid, PROCESS_FILE_INFO, (int)call->args[0]);
	blocked_target_parse_epoll(fdinfo, ret);
	return !scan_at_end(&fdinfo);
}

/* ---- a path ---------------------------------------------------------------------------------- */

static struct scan directory_of(struct process_reader *r, pid_t pid,
                                const struct blocked_args *call)
{
	const struct syscall_signature *s = syscall_signature_of(call->abi, call->number);
	unsigned at = s ? syscall_signature_position(s, SYSCALL_ARG_DIRECTORY, 0) : 0;

	if (at && (int)call->args[at - 1] != AT_FDCWD)
		return read_file(r, pid, PROCESS_OPEN_FILE, (int)call->args[at - 1]);
	return read_file(r, pid, PROCESS_CWD, 0);
}

bool blocked_target_path(struct process_reader *r, pid_t pid, const struct blocked_args *call,
                         unsigned position, char *ret, size_t cap)
{
	struct scan text = read_memory(r, pid, call->args[position - 1], PROCESS_MEMORY_MAX), below;
	char path[PROCESS_MEMORY_MAX + 1];
	size_t len = strnlen(text.p, scan_left(&text));

	if (!len || len == scan_left(&text)) /* it has no end here */
		return false;
	snprintf(path, sizeof path, "%.*s", (int)len, text.p);
	below = *path == '/' ? scan_mem("", 0) : directory_of(r, pid, call);
	snprintf(ret, cap, "%.*s%s%s", (int)scan_left(&below), below.p,
	         scan_at_end(&below) ? "" : "/", path);
	return true;
}

/* ---- a lock ---------------------------------------------------------------------------------- */

/* With a robust lock the waiter expects the value that names its owner, and the mark that some wait. */
static bool names_owner(const struct blocked_args *call)
{
	int op = (int)(call->args[1] & (uint64_t)FUTEX_CMD_MASK);

	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2)
		return true;
	return (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) && call->args[2] & FUTEX_WAITERS &&
	       call->args[2] & FUTEX_TID_MASK;
}

/* The kernel's numbers of the threads in the process's own namespace are ours only if that is ours. */
static bool shares_namespace(struct process_reader *r, pid_t pid)
{
	struct scan theirs = read_file(r, pid, PROCESS_PID_NAMESPACE, 0), ours;
	char kept[64];

	snprintf(kept, sizeof kept, "%.*s", (int)scan_left(&theirs), theirs.p);
	ours = read_file(r, getpid(), PROCESS_PID_NAMESPACE, 0);
	return *kept && scan_eq(&ours, kept);
}

pid_t blocked_target_owner(struct process_reader *r, pid_t pid, const struct blocked_args *call)
{
	uint32_t value = 0;
	struct scan bytes;

	if (!names_owner(call))
		return 0;
	bytes = read_memory(r, pid, call->args[0], sizeof value);
	if (scan_left(&bytes) < sizeof value)
		return 0;
	memcpy(&value, bytes.p, sizeof value);
	value &= FUTEX_TID_MASK;
	return value && shares_namespace(r, pid) ? (pid_t)value : 0;
}

/* 7f3a5d400000-7f3a5d421000 rw-s 00001000 00:1a 4711    /dev/shm/lock */
static bool parse_mapping(struct scan line, uint64_t *ret_from, uint64_t *ret_to,
                          struct blocked_mapping *ret)
{
	struct scan perms, device;

	if (!scan_hex(&line, ret_from) || !scan_lit(&line, "-") || !scan_hex(&line, ret_to) ||
	    !scan_word(&line, &perms) || !scan_hex(&line, &ret->offset) ||
	    !scan_word(&line, &device) || !scan_u64(&line, &ret->inode))
		return false;
	snprintf(ret->device, sizeof ret->device, "%.*s", (int)scan_left(&device), device.p);
	return scan_left(&perms) == 4 && perms.p[3] == 's';
}

bool blocked_target_parse_maps(struct scan maps, uint64_t address, struct blocked_mapping *ret)
{
	struct blocked_mapping m;
	struct scan line;
	uint64_t from, to;

	while (scan_line(&maps, &line))
		if (parse_mapping(line, &from, &to, &m) && from <= address && address < to) {
			m.offset += address - from;
			*ret = m;
			return true;
		}
	return false;
}

bool blocked_target_has_mapping(struct scan maps, const struct blocked_mapping *m)
{
	struct blocked_mapping found;
	struct scan line;
	uint64_t from, to;

	while (scan_line(&maps, &line))
		if (parse_mapping(line, &from, &to, &found) && found.inode == m->inode &&
		    strcmp(found.device, m->device) == 0 && found.offset <= m->offset &&
		    m->offset - found.offset < to - from)
			return true;
	return false;
}

size_t blocked_target_sharers(struct process_reader *r, pid_t pid, const struct blocked_args *call,
                              const struct proc_id *ids, size_t n, pid_t *ret_first)
{
	struct blocked_mapping m;
	size_t found = 0;

	if (call->args[1] & FUTEX_PRIVATE_FLAG ||
	    !blocked_target_parse_maps(read_file(r, pid, PROCESS_MAPS, 0), call->args[0], &m))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (ids[i].pid != pid &&
		    blocked_target_has_mapping(read_file(r, ids[i].pid, PROCESS_MAPS, 0), &m) &&
		    found++ == 0)
			*ret_first = ids[i].pid;
	return found;
}
