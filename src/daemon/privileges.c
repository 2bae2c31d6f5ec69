/* SPDX-License-Identifier: MIT */
#include "daemon/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* For BPF programs, kernel events, and /proc files of other users. Not CAP_KILL: the daemon signals
 * only helpers that run as the same user. */
#define BIT(cap) (UINT64_C(1) << (cap))
#define KEPT                                                                                       \
	(BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_NET_ADMIN) | BIT(CAP_SYS_PTRACE) |              \
	 BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYS_RESOURCE))

/* For the process that starts strace with the rights of other users. */
#define KEPT_BY_SPAWNER (BIT(CAP_SETUID) | BIT(CAP_SETGID))

static int keep(uint64_t kept, struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return err_set(err, errno, "read our capabilities: %s", strerror(errno));
	/* Programs that we start cannot gain a capability outside of the bounding set. */
	for (unsigned cap = 0; cap < 64; cap++)
		if (!(kept & BIT(cap)))
			(void)prctl(PR_CAPBSET_DROP, cap);
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(kept >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &head, data) < 0)
		return err_set(err, errno, "drop capabilities: %s", strerror(errno));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, errno, "forbid new privileges: %s", strerror(errno));
	return 0;
}

int privileges_drop(struct err *err)
{
	return keep(KEPT, err);
}

int privileges_keep_user_change(struct err *err)
{
	return keep(KEPT_BY_SPAWNER, err);
}
