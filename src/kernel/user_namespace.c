/* SPDX-License-Identifier: MIT */
#include "kernel/user_namespace.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "kernel/kernel_file.h"

/* /proc/self/uid_map:         0       1000          1
 *                             1     100000      65536
 * The first user here, the same user outside, and how many follow. */
uid_t user_namespace_outer(struct scan map, uid_t uid)
{
	struct scan line;

	while (scan_line(&map, &line)) {
		uint64_t inside, outside, n;

		if (scan_u64(&line, &inside) && scan_u64(&line, &outside) && scan_u64(&line, &n) &&
		    uid >= inside && uid - inside < n)
			return (uid_t)(outside + (uid - inside));
	}
	return uid;
}

uid_t user_namespace_own_uid(void)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(buf_done) struct buf map = { .max = KERNEL_FILE_MAX };
	struct err err;

	if (kernel_file_load_own(root_fd, "uid_map", &map, &err) < 0)
		return geteuid();
	return user_namespace_outer(kernel_file_text(&map), geteuid());
}
