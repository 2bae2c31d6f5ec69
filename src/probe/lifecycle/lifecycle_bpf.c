/* SPDX-License-Identifier: MIT */
/* Births, ends, signals and out-of-memory kills, reported by programs on the kernel's tracepoints. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <lifecycle.skel.h>

#include "base/clock.h"
#include "probe/bpf/bpf_call.h"
#include "probe/bpf/grace_period.h"
#include "probe/bpf/lifecycle_record.h"
#include "probe/bpf/bpf_pidns.h"
#include "probe/lifecycle/lifecycle_reader.h"
#include "probe/lifecycle/ring_buffer.h"
#include "probe/probe.h"

struct lifecycle_bpf {
	struct lifecycle_skel *skel;
	struct grace_period grace;
	struct ring_buffer *ring;
	struct lifecycle_reader reader;
	struct sample *out; /* while it is read */
	uint64_t lost;
};

static void lifecycle_bpf_close(void *self)
{
	struct lifecycle_bpf *p = self;

	if (!p)
		return;
	ring_buffer_close(p->ring);
	grace_period_end(&p->grace);
	lifecycle_skel__destroy(p->skel);
	lifecycle_reader_done(&p->reader);
	free(p);
}
DEFINE_CLEANUP(struct lifecycle_bpf *, lifecycle_bpf_close)

/* Before 6.10 there is no tracepoint before an exec: the peak of a process that runs several programs is
 * then an upper bound. */
static int attach_programs(struct lifecycle_skel *skel)
{
	(void)lifecycle_skel__on_prepare_exec__attach(skel);
	return lifecycle_skel__on_fork__attach(skel) < 0 ||
	                       lifecycle_skel__on_exec__attach(skel) < 0 ||
	                       lifecycle_skel__on_exit__attach(skel) < 0 ||
	                       lifecycle_skel__on_free__attach(skel) < 0 ||
	                       lifecycle_skel__on_signal__attach(skel) < 0
	               ? -1
	               : 0;
}

static int load_programs(struct lifecycle_bpf *p, int root_fd, size_t ring_bytes, struct err *err)
{
	struct pidns ns;
	int r;

	if (bpf_pidns_find(root_fd, &ns, err) < 0)
		return -err->code;
	p->reader.is_nested = ns.level > 0;
	p->skel = lifecycle_skel__open();
	if (!p->skel)
		return err_set(err, ENOMEM, "open the lifecycle programs: %s", strerror(ENOMEM));
	p->skel->maps.ring.max_entries = (uint32_t)ring_bytes;
	p->skel->rodata->pidns_level = ns.level;
	p->skel->rodata->pidns_reader = ns.reader;
	grace_period_begin(&p->grace, root_fd);
	r = lifecycle_skel__load(p->skel);
	grace_period_await(&p->grace);
	if (r)
		return err_set(err, -r, "the kernel refused the lifecycle programs: %s",
		               strerror(-r));
	if (attach_programs(p->skel) < 0)
		return err_set(err, errno, "attach the lifecycle programs: %s", strerror(errno));
	return 0;
}

static int lifecycle_bpf_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	cleanup(lifecycle_bpf_closep) struct lifecycle_bpf *p = xcalloc(1, sizeof *p);
	size_t ring_bytes = env->starts_fast ? LIFE_RING_SMALL_BYTES : LIFE_RING_BYTES;

	if (!env->is_live)
		return err_set(err, ENOTSUP, "BPF sees this machine, not a frozen tree");
	if (bpf_check_rights(err) < 0 || load_programs(p, env->root_fd, ring_bytes, err) < 0 ||
	    ring_buffer_open(p->skel->maps.ring.map_fd, ring_bytes, &p->ring, err) < 0)
		return -err->code;
	p->reader.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	*ret_self = TAKE_PTR(p);
	return 0;
}

static void take_record(void *self, const void *record, size_t len)
{
	struct lifecycle_bpf *p = self;

	lifecycle_reader_take(&p->reader, record, len, p->out);
}

static void report_loss(struct lifecycle_bpf *p, uint64_t lost, uint64_t now_ns, struct sample *out)
{
	struct event *e;

	out->events_complete = false;
	lifecycle_reader_give_up(&p->reader, out);
	e = sample_add_event(out, EVENT_LOSS);
	if (!e)
		return;
	e->boot_ns = now_ns;
	e->count = (int64_t)lost;
}

static int lifecycle_bpf_read(void *self, struct sample *out, struct err *err)
{
	struct lifecycle_bpf *p = self;
	uint64_t now_ns = clock_boot_ns(), lost;

	p->out = out;
	if (ring_buffer_drain(p->ring, take_record, p, err) < 0)
		return -err->code;
	lost = __atomic_load_n(&p->skel->bss->dropped, __ATOMIC_RELAXED) + p->reader.malformed -
	       p->lost;
	p->lost += lost;
	if (lost)
		report_loss(p, lost, now_ns, out);
	else
		lifecycle_reader_settle(&p->reader, now_ns, out);
	return 0;
}

static size_t lifecycle_bpf_pending_totals(void *self, struct sample *out,
                                           bool (*matches)(void *arg, struct proc_id id), void *arg,
                                           bool now)
{
	struct lifecycle_bpf *p = self;
	size_t pending = lifecycle_reader_pending_totals(&p->reader, matches, arg);

	if (now)
		lifecycle_reader_report(&p->reader, matches, arg, out);
	return pending;
}

static int lifecycle_bpf_fd(const void *self)
{
	const struct lifecycle_bpf *p = self;

	return p->skel->maps.ring.map_fd;
}

static void lifecycle_bpf_health(const void *self, struct probe_health *ret)
{
	const struct lifecycle_bpf *p = self;

	*ret = (struct probe_health){ .state = PROBE_WORKS,
		                      .source = "BPF tracepoints",
		                      .lost = p->lost };
	snprintf(ret->note, sizeof ret->note,
	         "every spawn, exec, exit with exact totals, signal and out-of-memory kill");
}

const struct probe_ops probe_lifecycle_bpf = {
	.name = "lifecycle-bpf",
	.flags = PROBE_NEEDS_BPF | PROBE_BRINGS_EVENTS | PROBE_REPORTS_BIRTHS | PROBE_REPORTS_TOTALS |
	         PROBE_OPENS_EARLY,
	.open = lifecycle_bpf_open,
	.read = lifecycle_bpf_read,
	.fd = lifecycle_bpf_fd,
	.pending_totals = lifecycle_bpf_pending_totals,
	.health = lifecycle_bpf_health,
	.close = lifecycle_bpf_close,
};
