/* SPDX-License-Identifier: MIT */
#include "kernel/ptrace_access.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/kernel_file.h"
#include "kernel/process_lookup.h"
#include "kernel/process_peek.h"

#define ANCESTORS_MAX 1000
#define CAP_BIT (UINT64_C(1) << CAP_SYS_PTRACE)
#define ROOT_MAY "root, or a program with CAP_SYS_PTRACE, may trace it"

/* ---- /proc/PID/status ------------------------------------------------------------------------ */

static bool scan_pid(struct scan *line, pid_t *ret)
{
	uint64_t pid;

	if (!scan_u64(line, &pid) || pid > INT32_MAX)
		return false;
	*ret = (pid_t)pid;
	return true;
}

/* State:	S (sleeping)
 * Tgid:	4711
 * PPid:	4711
 * TracerPid:	0
 * Uid:	1000	1000	1000	1000
 * Gid:	1000	1000	1000	1000
 * VmSize:	    5460 kB
 * CapPrm:	0000000000000000 */
bool ptrace_target_parse(struct scan status, struct ptrace_target *ret)
{
	struct ptrace_target t = { 0 };
	struct scan line, word;
	unsigned found = 0;

	while (scan_line(&status, &line)) {
		if (scan_lit(&line, "State:") && scan_word(&line, &word))
			t.state = *word.p;
		else if (scan_lit(&line, "Tgid:"))
			found |= scan_pid(&line, &t.tgid) ? 32U : 0;
		else if (scan_lit(&line, "PPid:"))
			found |= scan_pid(&line, &t.ppid) ? 1U : 0;
		else if (scan_lit(&line, "TracerPid:"))
			found |= scan_pid(&line, &t.tracer) ? 2U : 0;
		else if (scan_lit(&line, "Uid:"))
			found |= process_files_scan_ids(&line, t.uids) ? 4U : 0;
		else if (scan_lit(&line, "Gid:"))
			found |= process_files_scan_ids(&line, t.gids) ? 8U : 0;
		else if (scan_lit(&line, "CapPrm:"))
			found |= scan_hex(&line, &t.capabilities) ? 16U : 0;
		else if (scan_lit(&line, "Threads:"))
			(void)scan_u64(&line, &t.threads);
		else if (scan_lit(&line, "VmSize:"))
			t.has_memory = true;
	}
	if (!t.state || found != 63)
		return false;
	*ret = t;
	return true;
}

static int parse_target(struct scan status, struct ptrace_target *ret)
{
	return ptrace_target_parse(status, ret) ? 0 : -EBADMSG;
}

static int read_in_place(int root_fd, pid_t pid, struct ptrace_target *ret)
{
	char text[PROCESS_PEEK_STATUS_MAX];
	ssize_t n = process_peek_status(root_fd, pid, text);

	return n < 0 ? (int)n : parse_target(scan_mem(text, (size_t)n), ret);
}

static int read_target(struct process_reader *r, int root_fd, pid_t pid, struct ptrace_target *ret)
{
	struct process_request q = { .pid = pid, .files = 1U << PROCESS_STATUS };

	if (!r)
		return read_in_place(root_fd, pid, ret);
	process_reader_read(r, &q, 1);
	if (q.error || q.errors[PROCESS_STATUS])
		return q.error ? q.error : q.errors[PROCESS_STATUS];
	return parse_target(q.text[PROCESS_STATUS], ret);
}

/* ---- the rules ------------------------------------------------------------------------------- */

struct ptrace_caller ptrace_access_own(int root_fd)
{
	struct ptrace_caller us = { .uid = getuid(), .gid = getgid() };
	char text[PROCESS_PEEK_STATUS_MAX];
	ssize_t n = process_peek_status(root_fd, 0, text);
	struct scan s = scan_mem(text, n > 0 ? (size_t)n : 0), line;

	while (scan_line(&s, &line))
		if (scan_lit(&line, "CapEff:"))
			(void)scan_hex(&line, &us.capabilities);
	return us;
}

/* With hidepid a process of another user has no directory, but it can be signalled, or not. */
static int describe_absence(pid_t pid, struct err *err)
{
	if (kill(pid, 0) < 0 && errno == ESRCH)
		return err_set(err, ESRCH, "there is no process %d; list them: ps -e", (int)pid);
	return err_set(err, EPERM, "process %d is hidden from this user: only " ROOT_MAY, (int)pid);
}

static int describe_tracer(int root_fd, pid_t pid, const char *comm, pid_t tracer, struct err *err)
{
	char by[COMM_LEN];

	process_peek_comm(root_fd, tracer, by);
	return err_set(err, EBUSY, "process %d (%s) is already traced, by %s (pid %d)", (int)pid,
	               comm, by[0] ? by : "a process", (int)tracer);
}

/* A daemon's loop must not wait for the user database, which may be remote. */
static int describe_owner(pid_t pid, const char *comm, uid_t uid, struct err *err)
{
	char user[16] = "root";

	if (uid != 0)
		snprintf(user, sizeof user, "user %u", uid);
	return err_set(err, EPERM, "process %d (%s) belongs to %s: only that user, " ROOT_MAY,
	               (int)pid, comm, user);
}

static bool is_all(const uint32_t ids[static 3], uint32_t id)
{
	return ids[0] == id && ids[1] == id && ids[2] == id;
}

/* The kernel gives the files of a process that may not be inspected to root. */
static bool is_protected(int root_fd, pid_t pid, uid_t uid)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof path, "proc/%d/stat", (int)pid);
	return uid != 0 && fstatat(root_fd, path, &st, 0) == 0 && st.st_uid != uid;
}

static int check_rights(int root_fd, pid_t pid, const char *comm, const struct ptrace_target *t,
                        const struct ptrace_caller *caller, struct err *err)
{
	if (caller->capabilities & CAP_BIT)
		return 0;
	if (t->uids[0] != caller->uid)
		return describe_owner(pid, comm, t->uids[0], err);
	if (t->capabilities & ~caller->capabilities)
		return err_set(
			err, EPERM,
			"process %d (%s) has capabilities that this user lacks: only " ROOT_MAY,
			(int)pid, comm);
	if (!is_all(t->uids, caller->uid) || !is_all(t->gids, caller->gid) ||
	    is_protected(root_fd, pid, caller->uid))
		return err_set(
			err, EPERM,
			"process %d (%s) is protected: it changed its user or group, or cleared "
			"PR_SET_DUMPABLE; only " ROOT_MAY,
			(int)pid, comm);
	return 0;
}

static int find_target(struct process_reader *r, int root_fd, pid_t pid, struct ptrace_target *ret,
                       char ret_comm[static COMM_LEN], struct err *err)
{
	int error = read_target(r, root_fd, pid, ret);

	if (error == -ETIMEDOUT || error == -EBUSY)
		return process_lookup_describe_hang(pid, err);
	if (error < 0)
		return describe_absence(pid, err);
	process_peek_comm(root_fd, pid, ret_comm);
	if (ret->tgid != pid)
		return err_set(err, ESRCH, "%d (%s) is a thread, of process %d: name that one",
		               (int)pid, ret_comm, (int)ret->tgid);
	if (ret->state == 'Z' && ret->threads > 1)
		return 0;
	if (strchr("ZX", ret->state))
		return err_set(err, ESRCH, "process %d (%s) has ended, and waits for its parent",
		               (int)pid, ret_comm);
	if (!ret->has_memory)
		return err_set(err, EINVAL,
		               "process %d (%s) is a kernel thread: it makes no system calls",
		               (int)pid, ret_comm);
	return 0;
}

int ptrace_access_check_kind(int root_fd, pid_t pid, struct err *err)
{
	struct ptrace_target t;
	char comm[COMM_LEN];

	return find_target(NULL, root_fd, pid, &t, comm, err);
}

int ptrace_access_check(struct process_reader *r, int root_fd, pid_t pid,
                        const struct ptrace_caller *caller, struct err *err)
{
	struct ptrace_target t;
	char comm[COMM_LEN];

	if (find_target(r, root_fd, pid, &t, comm, err) < 0)
		return -err->code;
	if (t.tracer)
		return describe_tracer(root_fd, pid, comm, t.tracer, err);
	return check_rights(root_fd, pid, comm, &t, caller, err);
}

int ptrace_access_explain(struct process_reader *r, int root_fd, pid_t pid,
                          const struct ptrace_caller *caller, struct err *err)
{
	char text[16];
	ssize_t n = kernel_file_read(root_fd, "proc/sys/kernel/yama/ptrace_scope", text,
	                             sizeof text);
	struct scan s = scan_mem(text, n > 0 ? (size_t)n : 0);
	uint64_t scope = 0;

	if (ptrace_access_check(r, root_fd, pid, caller, err) < 0)
		return -err->code;
	if (scan_u64(&s, &scope) && scope == 3)
		return err_set(
			err, EPERM,
			"nobody may trace: kernel.yama.ptrace_scope is 3, until the next boot");
	if (scope && !(caller->capabilities & CAP_BIT))
		return err_set(
			err, EPERM,
			"process %d may not be traced: kernel.yama.ptrace_scope is %u. Run this as root, or as root: sysctl "
			"kernel.yama.ptrace_scope=0",
			(int)pid, (unsigned)scope);
	return err_set(
		err, EPERM,
		"the kernel refuses to trace process %d: a security module or the seccomp filter of a "
		"container may forbid it",
		(int)pid);
}

bool ptrace_access_is_ancestor(int root_fd, pid_t pid)
{
	struct ptrace_target t = { .ppid = getpid() };

	for (int i = 0; t.ppid > 0 && i < ANCESTORS_MAX; i++) {
		if (t.ppid == pid)
			return true;
		if (read_in_place(root_fd, t.ppid, &t) < 0)
			break;
	}
	return false;
}
