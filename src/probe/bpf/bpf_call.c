/* SPDX-License-Identifier: MIT */
#include "probe/bpf/bpf_call.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

static bool has_right(const struct __user_cap_data_struct data[2], unsigned cap)
{
	return data[cap / 32].effective >> (cap % 32) & 1;
}

int bpf_check_rights(struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &head, data) < 0)
		return err_set(err, errno, "capget: %s", strerror(errno));
	if (has_right(data, CAP_SYS_ADMIN) ||
	    (has_right(data, CAP_BPF) && has_right(data, CAP_PERFMON)))
		return 0;
	return err_set(err, EPERM, "BPF needs CAP_BPF and CAP_PERFMON");
}

int bpf_iter_open(int link_fd, struct err *err)
{
	union bpf_attr attr = { .iter_create.link_fd = (uint32_t)link_fd };
	int fd = (int)syscall(SYS_bpf, BPF_ITER_CREATE, &attr, sizeof attr);

	if (fd < 0)
		return err_set(err, errno, "create a BPF iterator: %s", strerror(errno));
	return fd;
}
