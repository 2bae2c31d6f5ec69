/* SPDX-License-Identifier: MIT */
/* Births, ends, signals and out-of-memory kills, told by programs on the kernel's tracepoints. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "probe/bpf/bpf_call.h"
#include "probe/bpf/lifecycle_load.h"
#include "probe/bpf/lifecycle_record.h"
#include "probe/lifecycle/lifecycle_reader.h"
#include "probe/probe.h"
#include "probe/lifecycle/ring_buffer.h"

struct lifecycle_bpf {
	struct lifecycle_load *load;
	struct ring_buffer *ring;
	struct lifecycle_reader book;
	struct sample *out; /* while it is read */
	uint64_t lost;
};

static void lifecycle_bpf_close(void *self)
{
	struct lifecycle_bpf *p = self;

	if (!p)
		return;
	ring_buffer_close(p->ring);
	lifecycle_load_close(p->load);
	lifecycle_reader_done(&p->book);
	free(p);
}
DEFINE_CLEANUP(struct lifecycle_bpf *, lifecycle_bpf_close)

static int lifecycle_bpf_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	cleanup(lifecycle_bpf_closep) struct lifecycle_bpf *p = xcalloc(1, sizeof *p);

	if (!env->is_live)
		return err_set(err, ENOTSUP, "BPF sees this machine, not a frozen tree");
	if (bpf_check_rights(err) < 0)
		return -err->code;
	size_t ring_bytes = env->starts_fast ? LIFE_RING_SMALL_BYTES : LIFE_RING_BYTES;
	if (lifecycle_load_open(env->root_fd, ring_bytes, &p->load, err) < 0)
		return -err->code;
	if (ring_buffer_open(lifecycle_load_ring_fd(p->load), ring_bytes, &p->ring, err) < 0)
		return -err->code;
	p->book.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	p->book.is_nested = lifecycle_load_is_nested(p->load);
	*ret_self = TAKE_PTR(p);
	return 0;
}

static void take(void *self, const void *record, size_t len)
{
	struct lifecycle_bpf *p = self;

	lifecycle_reader_take(&p->book, record, len, p->out);
}

static void tell_loss(struct lifecycle_bpf *p, uint64_t lost, uint64_t now_ns, struct sample *out)
{
	struct event *e;

	out->events_complete = false;
	lifecycle_reader_give_up(&p->book, out);
	e = sample_add_event(out, EVENT_LOSS);
	if (!e)
		return;
	e->boot_ns = now_ns;
	e->count = (int64_t)lost;
}

static int lifecycle_bpf_read(void *self, struct sample *out, struct err *err)
{
	struct lifecycle_bpf *p = self;
	uint64_t now_ns = clock_boot_ns();

	p->out = out;
	int r = ring_buffer_drain(p->ring, take, p, err);
	if (r < 0)
		return r;

	uint64_t lost = lifecycle_load_dropped(p->load) + p->book.malformed - p->lost;
	p->lost += lost;
	if (lost)
		tell_loss(p, lost, now_ns, out);
	else
		lifecycle_reader_settle(&p->book, now_ns, out);
	return 0;
}

static size_t lifecycle_bpf_owed(void *self, struct sample *out,
                                 bool (*cares)(void *arg, struct proc_id id), void *arg, bool now)
{
	struct lifecycle_bpf *p = self;
	size_t owed = lifecycle_reader_owed(&p->book, cares, arg);

	if (now)
		lifecycle_reader_give_up(&p->book, out);
	return owed;
}

static int lifecycle_bpf_fd(const void *self)
{
	const struct lifecycle_bpf *p = self;

	return lifecycle_load_ring_fd(p->load);
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
	.flags = PROBE_NEEDS_BPF | PROBE_REPORTS_BIRTHS | PROBE_REPORTS_TOTALS | PROBE_OPENS_EARLY,
	.open = lifecycle_bpf_open,
	.read = lifecycle_bpf_read,
	.fd = lifecycle_bpf_fd,
	.owed = lifecycle_bpf_owed,
	.health = lifecycle_bpf_health,
	.close = lifecycle_bpf_close,
};
