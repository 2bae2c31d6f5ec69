/* SPDX-License-Identifier: MIT */
#include "probe/bpf/pidns_load.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <pidns.skel.h>

#include "probe/bpf/bpf_call.h"

#define INITIAL_INODE 0xEFFFFFFC /* of the initial pid namespace, on every kernel */

/* Where this cannot be seen, the kernel is asked. */
static bool is_initial(int root_fd)
{
	struct stat st;

	return fstatat(root_fd, "proc/self/ns/pid", &st, 0) == 0 && st.st_ino == INITIAL_INODE;
}

int pidns_find(int root_fd, struct pidns *ret, struct err *err)
{
	struct pidns_skel *skel;
	int r;

	*ret = (struct pidns){ 0 };
	if (is_initial(root_fd))
		return 0;
	skel = pidns_skel__open();
	if (!skel)
		return err_set(err, ENOMEM, "find the pid namespace: %s", strerror(ENOMEM));
	r = pidns_skel__load(skel);
	if (r)
		r = err_set(err, -r, "find the pid namespace: %s", strerror(-r));
	else
		r = bpf_run_once(skel->progs.pidns_learn.prog_fd, err);
	if (r == 0)
		*ret = (struct pidns){ skel->bss->found_level, skel->bss->found_reader };
	pidns_skel__destroy(skel);
	return r;
}
