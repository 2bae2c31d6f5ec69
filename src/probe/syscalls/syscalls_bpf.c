/* SPDX-License-Identifier: MIT */
/* The system calls of traced processes, counted by programs in the kernel. They are attached while something
 * is traced, and only then: all processes of the machine pay for them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syscalls.skel.h>

#include "probe/bpf/bpf_call.h"
#include "probe/bpf/pidns_load.h"
#include "probe/bpf/syscall_record.h"
#include "probe/lifecycle/ring_buffer.h"
#include "probe/probe.h"

struct syscalls_bpf {
	struct syscalls_skel *skel;
	struct ring_buffer *ring;
	struct sample *out; /* while it is read */
	bool is_attached;
	uint64_t lost;
};

static void syscalls_bpf_close(void *self)
{
	struct syscalls_bpf *p = self;

	if (!p)
		return;
	ring_buffer_close(p->ring);
	syscalls_skel__destroy(p->skel);
	free(p);
}
DEFINE_CLEANUP(struct syscalls_bpf *, syscalls_bpf_close)

static int load_programs(struct syscalls_bpf *p, int root_fd, struct err *err)
{
	struct pidns ns;
	int r;

	if (pidns_find(root_fd, &ns, err) < 0)
		return -err->code;
	p->skel = syscalls_skel__open();
	if (!p->skel)
		return err_set(err, ENOMEM, "open the system call programs: %s", strerror(ENOMEM));
	p->skel->rodata->pidns_level = ns.level;
	p->skel->rodata->pidns_reader = ns.reader;
	r = syscalls_skel__load(p->skel);
	if (r)
		return err_set(err, -r, "the kernel refused the system call programs: %s",
		               strerror(-r));
	if (syscalls_skel__visit__attach(p->skel) < 0)
		return err_set(err, errno, "attach the iterator over threads: %s", strerror(errno));
	return 0;
}

static int syscalls_bpf_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	cleanup(syscalls_bpf_closep) struct syscalls_bpf *p = xcalloc(1, sizeof *p);

	if (!env->traces_syscalls)
		return err_set(err, ECANCELED, "not asked for");
	if (!env->is_live)
		return err_set(err, ENOTSUP, "BPF sees this machine, not a frozen tree");
	if (bpf_check_rights(err) < 0 || load_programs(p, env->root_fd, err) < 0 ||
	    ring_buffer_open(p->skel->maps.ring.map_fd, SYSCALL_RING_BYTES, &p->ring, err) < 0)
		return -err->code;
	*ret_self = TAKE_PTR(p);
	return 0;
}

/* ---- tracing --------------------------------------------------------------------------------- */

/* Children inherit before a parent is traced, so that none is missed. */
static int attach(struct syscalls_bpf *p, struct err *err)
{
	if (p->is_attached)
		return 0;
	if (syscalls_skel__on_fork__attach(p->skel) < 0 ||
	    syscalls_skel__on_exec__attach(p->skel) < 0 ||
	    syscalls_skel__on_thread_end__attach(p->skel) < 0 ||
	    syscalls_skel__on_exit__attach(p->skel) < 0 ||
	    syscalls_skel__on_enter__attach(p->skel) < 0)
		return err_set(err, errno, "attach the system call programs: %s", strerror(errno));
	p->is_attached = true;
	return 0;
}

static void detach(struct syscalls_bpf *p)
{
	skel_closenz(p->skel->links.on_enter_fd);
	skel_closenz(p->skel->links.on_exit_fd);
	skel_closenz(p->skel->links.on_thread_end_fd);
	skel_closenz(p->skel->links.on_exec_fd);
	skel_closenz(p->skel->links.on_fork_fd);
	p->skel->links.on_enter_fd = p->skel->links.on_exit_fd = 0;
	p->skel->links.on_thread_end_fd = p->skel->links.on_exec_fd = p->skel->links.on_fork_fd = 0;
	p->is_attached = false;
}

/* Has the kernel visit each thread. */
static int visit_threads(struct syscalls_bpf *p, bool to_trace, struct err *err)
{
	char none[64];

	p->skel->bss->pass_is_to_trace = to_trace;
	p->skel->bss->pass_traced = 0;
	cleanup(closep) int fd = bpf_iter_open(p->skel->links.visit_fd, err);
	if (fd < 0)
		return fd;
	for (;;) {
		ssize_t n = read(fd, none, sizeof none);

		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_set(err, errno, "visit all threads: %s", strerror(errno));
	}
}

/* Twice: a thread that was born of one not yet visited is found by the second pass. */
static int syscalls_bpf_trace(void *self, const pid_t *pids, size_t n, bool from_exec,
                              struct err *err)
{
	struct syscalls_bpf *p = self;
	int wanted = p->skel->maps.wanted.map_fd, r = attach(p, err);
	uint64_t awaits_exec = from_exec;

	for (size_t i = 0; r == 0 && i < n; i++)
		if (skel_map_update_elem(wanted, &pids[i], &awaits_exec, BPF_ANY) < 0)
			r = err_set(err, errno, "trace process %d: %s", (int)pids[i],
			            strerror(errno));
	for (int pass = 0; r == 0 && pass < 2; pass++)
		r = visit_threads(p, true, err);
	for (size_t i = 0; i < n; i++)
		(void)skel_map_delete_elem(wanted, &pids[i]);
	return r;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void take_record(void *self, const void *bytes, size_t len)
{
	struct syscalls_bpf *p = self;
	const struct syscall_report *r = bytes;

	if (len < sizeof r->head || r->head.len > SYSCALL_SLOTS ||
	    len < sizeof r->head + r->head.len * sizeof r->counts[0]) {
		p->out->syscalls_lost = true;
		return;
	}
	for (uint32_t i = 0; i < r->head.len; i++) {
		const struct syscall_tally *c = &r->counts[i];
		struct syscall_use *use = vec_push(&p->out->syscalls, SYSCALL_USES_MAX);

		if (!use) {
			p->out->syscalls_lost = true;
			return;
		}
		use->id = (struct proc_id){ (pid_t)r->head.pid, r->head.start_ns / NS_PER_TICK };
		use->c = (struct syscall_count){
			.call = syscall_id_of((enum syscall_abi)(c->call >> SYSCALL_ABI_SHIFT),
			                      c->call & ((1u << SYSCALL_ABI_SHIFT) - 1)),
			.error = c->error,
			.count = c->count,
			.ns = c->ns,
		};
	}
}

/* Between ticks only those that have ended report. */
static int syscalls_bpf_read(void *self, struct sample *out, struct err *err)
{
	struct syscalls_bpf *p = self;
	bool visits = out->want & WANT_SYSCALLS;
	uint64_t lost;

	if (!p->is_attached)
		return 0;
	if (visits && visit_threads(p, false, err) < 0)
		return -err->code;
	p->out = out;
	if (ring_buffer_drain(p->ring, take_record, p, err) < 0)
		return -err->code;
	lost = __atomic_load_n(&p->skel->bss->dropped, __ATOMIC_RELAXED) +
	       __atomic_load_n(&p->skel->bss->untraced, __ATOMIC_RELAXED);
	out->syscalls_lost |= lost != p->lost;
	p->lost = lost;
	if (visits && !p->skel->bss->pass_traced)
		detach(p);
	return 0;
}

static int syscalls_bpf_fd(const void *self)
{
	const struct syscalls_bpf *p = self;

	return p->skel->maps.ring.map_fd;
}

static void syscalls_bpf_health(const void *self, struct probe_health *ret)
{
	const struct syscalls_bpf *p = self;

	*ret = (struct probe_health){ .state = PROBE_WORKS, .source = "BPF", .lost = p->lost };
	snprintf(ret->note, sizeof ret->note, "%s",
	         p->is_attached
	                 ? "calls, errors and time of traced processes; all others are slowed down"
	                 : "calls, errors and time of processes traced by run --syscalls");
}

const struct probe_ops probe_syscalls_bpf = {
	.name = "syscalls-bpf",
	.flags = PROBE_NEEDS_BPF | PROBE_OPENS_EARLY,
	.open = syscalls_bpf_open,
	.read = syscalls_bpf_read,
	.fd = syscalls_bpf_fd,
	.trace = syscalls_bpf_trace,
	.health = syscalls_bpf_health,
	.close = syscalls_bpf_close,
};
