/* SPDX-License-Identifier: MIT */
#include "probe/bpf/tasks_load.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <tasks.skel.h>

#include "base/mem.h"
#include "probe/bpf/bpf_call.h"
#include "probe/bpf/bpf_pidns.h"
#include "probe/bpf/task_record.h"

struct tasks_load {
	struct tasks_skel *skel;
};

int tasks_load_open(int root_fd, unsigned cpus, struct tasks_load **ret, struct err *err)
{
	cleanup(tasks_load_closep) struct tasks_load *load = xcalloc(1, sizeof *load);
	struct pidns ns;

	if (bpf_pidns_find(root_fd, &ns, err) < 0)
		return -err->code;
	load->skel = tasks_skel__open();
	if (!load->skel)
		return err_set(err, ENOMEM, "open the task iterator: %s", strerror(ENOMEM));
	load->skel->rodata->cpus_possible = cpus;
	load->skel->rodata->pidns_level = ns.level;
	load->skel->rodata->pidns_reader = ns.reader;
	int r = tasks_skel__load(load->skel);
	if (r)
		return err_set(err, -r, "the kernel refused the task iterator: %s", strerror(-r));
	if (tasks_skel__attach(load->skel))
		return err_set(err, errno, "attach the task iterator: %s", strerror(errno));
	*ret = TAKE_PTR(load);
	return 0;
}

void tasks_load_close(struct tasks_load *load)
{
	if (!load)
		return;
	tasks_skel__destroy(load->skel);
	free(load);
}

void tasks_load_clear_focus(struct tasks_load *load)
{
	memset(load->skel->bss->focus, 0, sizeof load->skel->bss->focus);
}

void tasks_load_add_focus(struct tasks_load *load, pid_t pid)
{
	unsigned bit = (unsigned)pid % TASK_FOCUS_BITS;

	load->skel->bss->focus[bit / 64] |= UINT64_C(1) << bit % 64;
}

int tasks_load_iterate(struct tasks_load *load, bool all, struct err *err)
{
	load->skel->bss->pass_number++;
	load->skel->bss->pass_is_full = all;
	return bpf_iter_open(load->skel->links.tasks_read_fd, err);
}
