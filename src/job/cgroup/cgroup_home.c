/* SPDX-License-Identifier: MIT */
#include "job/cgroup/cgroup_home.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "base/mem.h"
#include "kernel/kernel_file.h"

static int load(int root_fd, const char *path, struct buf *to, struct err *err)
{
	int r = kernel_file_load(root_fd, path, to);

	return r < 0 ? err_set(err, -r, "read '/%s': %s", path, strerror(-r)) : 0;
}

int cgroup_home_find(int root_fd, struct cgroup_home *ret, struct err *err)
{
	cleanup(buf_done) struct buf membership = { .max = KERNEL_FILE_MAX };
	cleanup(buf_done) struct buf mountinfo = { .max = KERNEL_FILE_MAX };
	cleanup(freep) struct cgroup_mounts *mounts = xmalloc(sizeof *mounts);
	bool found;

	memset(ret, 0, sizeof *ret);
	if (load(root_fd, "proc/self/cgroup", &membership, err) < 0 ||
	    load(root_fd, "proc/self/mountinfo", &mountinfo, err) < 0)
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
	char text[4096];
	ssize_t n = kernel_file_read(root_fd, "proc/self/status", text, sizeof text);
	struct scan s = scan_mem(text, n > 0 ? (size_t)n : 0), line;
	uint64_t uid = 0, caps = exempt;

	while (scan_line(&s, &line)) {
		if (scan_lit(&line, "Uid:"))
			scan_u64(&line, &uid);
		else if (scan_lit(&line, "CapEff:"))
			scan_hex(&line, &caps);
	}
	return uid != 0 && !(caps & exempt);
}
