/* SPDX-License-Identifier: MIT */
#include "probe/bpf/bpf_pidns.h"

#include <errno.h>
#include <string.h>
#include <pidns.skel.h>

#include "kernel/pid_namespace.h"

/* Runs the program once, in our own context. */
static int run_program(const struct pidns_skel *skel, struct err *err)
{
	union bpf_attr attr = { .test.prog_fd = (uint32_t)skel->progs.pidns_learn.prog_fd };

	if (skel_sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof attr) < 0)
		return err_set(err, errno, "find the pid namespace: %s", strerror(errno));
	return 0;
}

int bpf_pidns_find(int root_fd, struct pidns *ret, struct err *err)
{
	struct pidns_skel *skel;
	int r;

	*ret = (struct pidns){ 0 };
	if (pid_namespace_is_initial(root_fd))
		return 0;
	skel = pidns_skel__open();
	if (!skel)
		return err_set(err, ENOMEM, "find the pid namespace: %s", strerror(ENOMEM));
	r = pidns_skel__load(skel);
	if (r)
		r = err_set(err, -r, "find the pid namespace: %s", strerror(-r));
	else
		r = run_program(skel, err);
	if (r == 0)
		*ret = (struct pidns){ skel->bss->found_level, skel->bss->found_reader };
	pidns_skel__destroy(skel);
	return r;
}
