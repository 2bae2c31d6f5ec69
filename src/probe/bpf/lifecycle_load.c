/* SPDX-License-Identifier: MIT */
#include "probe/bpf/lifecycle_load.h"

#include <errno.h>
#include <string.h>
#include <lifecycle.skel.h>

#include "base/mem.h"
#include "probe/bpf/grace_period.h"
#include "probe/bpf/pidns_load.h"

struct lifecycle_load {
	struct lifecycle_skel *skel;
	bool is_nested;
	struct grace_period grace;
};

int lifecycle_load_open(int root_fd, size_t ring_bytes, struct lifecycle_load **ret,
                        struct err *err)
{
	cleanup(lifecycle_load_closep) struct lifecycle_load *load = xcalloc(1, sizeof *load);
	struct pidns ns;

	if (pidns_find(root_fd, &ns, err) < 0)
		return -err->code;
	load->is_nested = ns.level > 0;
	load->skel = lifecycle_skel__open();
	if (!load->skel)
		return err_set(err, ENOMEM, "open the lifecycle programs: %s", strerror(ENOMEM));
	load->skel->maps.ring.max_entries = (uint32_t)ring_bytes;
	load->skel->rodata->pidns_level = ns.level;
	load->skel->rodata->pidns_reader = ns.reader;
	grace_period_begin(&load->grace, root_fd);
	int r = lifecycle_skel__load(load->skel);
	grace_period_await(&load->grace);
	if (r)
		return err_set(err, -r, "the kernel refused the lifecycle programs: %s",
		               strerror(-r));
	if (lifecycle_skel__attach(load->skel))
		return err_set(err, errno, "attach the lifecycle programs: %s", strerror(errno));
	*ret = TAKE_PTR(load);
	return 0;
}

void lifecycle_load_close(struct lifecycle_load *load)
{
	if (!load)
		return;
	grace_period_end(&load->grace);
	lifecycle_skel__destroy(load->skel);
	free(load);
}

int lifecycle_load_ring_fd(const struct lifecycle_load *load)
{
	return load->skel->maps.ring.map_fd;
}

uint64_t lifecycle_load_dropped(const struct lifecycle_load *load)
{
	return __atomic_load_n(&load->skel->bss->dropped, __ATOMIC_RELAXED);
}

bool lifecycle_load_is_nested(const struct lifecycle_load *load)
{
	return load->is_nested;
}
