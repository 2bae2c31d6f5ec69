/* SPDX-License-Identifier: MIT */
#include "job/cgroup/cgroup_home.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "base/mem.h"
#include "kernel/kernel_file.h"
#include "kernel/process_peek.h"

bool cgroup_home_locate(int root_fd, pid_t pid, struct cgroup_dirs *ret)
{
	cleanup(buf_done) struct buf mountinfo = { .max = KERNEL_FILE_MAX };
	cleanup(freep) struct cgroup_mounts *mounts = xcalloc(1, sizeof *mounts);
	char text[8192];
	ssize_t n = process_peek_cgroup(root_fd, pid, text, sizeof text);
	struct err ignored;

	/* The file is empty where no hierarchy is mounted, and absent where the kernel has no control groups. */
	if (n < 0 && pid)
		return false;
	if (kernel_file_load_own(root_fd, "mountinfo", &mountinfo, &ignored) < 0)
		return false;
	cgroup_parse_mountinfo(kernel_file_text(&mountinfo), mounts);
	(void)cgroup_locate(scan_mem(text, n > 0 ? (size_t)n : 0), mounts, ret);
	return true;
}

int cgroup_home_find(int root_fd, struct cgroup_home *ret, struct err *err)
{
	cleanup(buf_done) struct buf membership = { .max = KERNEL_FILE_MAX };
	cleanup(buf_done) struct buf mountinfo = { .max = KERNEL_FILE_MAX };
	cleanup(freep) struct cgroup_mounts *mounts = xmalloc(sizeof *mounts);
	bool found;

	memset(ret, 0, sizeof *ret);
	if (kernel_file_load_own(root_fd, "cgroup", &membership, err) < 0 ||
	    kernel_file_load_own(root_fd, "mountinfo", &mountinfo, err) < 0)
		return -err->code;
	cgroup_parse_mountinfo(kernel_file_text(&mountinfo), mounts);
	found = cgroup_locate(kernel_file_text(&membership), mounts, &ret->dirs);
	found |= cgroup_locate_v2(kernel_file_text(&membership), mounts, &ret->v2);
	return found ? 0
	             : err_set(err, ENOENT,
	                       "our control group is in no hierarchy that is mounted here");
}

/* Uid:	1000	1000	1000	1000
 * CapEff:	0000000000000000
 * The kernel asks for the real user, and spares root and two capabilities. */
bool cgroup_home_rlimit_binds(int root_fd)
{
	const uint64_t exempt = UINT64_C(1) << CAP_SYS_RESOURCE | UINT64_C(1) << CAP_SYS_ADMIN;
	cleanup(buf_done) struct buf text = { .max = KERNEL_FILE_MAX };
	uint64_t uid = 0, caps = exempt;
	struct scan s, line;
	struct err ignored;

	(void)!kernel_file_load_own(root_fd, "status", &text, &ignored);
	s = kernel_file_text(&text);
	while (scan_line(&s, &line)) {
		if (scan_lit(&line, "Uid:"))
			scan_u64(&line, &uid);
		else if (scan_lit(&line, "CapEff:"))
			scan_hex(&line, &caps);
	}
	return uid != 0 && !(caps & exempt);
}
