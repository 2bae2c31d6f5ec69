/* SPDX-License-Identifier: MIT */
/* The system calls of traced processes, counted by programs in the kernel. They are attached while something
 * is traced, and only then: all processes of the machine pay for them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe/bpf/flight_record.h" /* first: the skeleton has members of its types */

#include <syscalls.skel.h>

#include "model/flight.h"
#include "probe/bpf/bpf_call.h"
#include "probe/bpf/bpf_pidns.h"
#include "probe/bpf/syscall_record.h"
#include "probe/lifecycle/ring_buffer.h"
#include "probe/probe.h"

/* Processes that are killed together report up to four pages for each thread. */
#define FLIGHT_RING_BYTES (4 * SYSCALL_RING_BYTES)

struct syscalls_bpf {
	struct syscalls_skel *skel;
	struct ring_buffer *ring;
	struct sample *out; /* while it is read */
	bool is_attached;
	uint64_t lost, flights_lost;
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

/* What the kernel side keeps of each call, derived from the types of its arguments. */
static void set_flight_rules(struct syscalls_bpf *p)
{
	struct flight_rule *rules = (struct flight_rule *)p->skel->rodata->flight_rules;

	static_assert((int)SYSCALL_ABI_COUNT < FLIGHT_ABIS, "the last one has no rules");
	for (uint32_t i = 0; i < SYSCALL_ABI_COUNT * FLIGHT_NUMBERS; i++) {
		const struct syscall_signature *s = syscall_signature_of(
			(enum syscall_abi)(i / FLIGHT_NUMBERS), i % FLIGHT_NUMBERS);

		if (!s)
			continue;
		rules[i] = (struct flight_rule){
			.path = (uint8_t)syscall_signature_position(s, SYSCALL_ARG_PATH, 0),
			.more = (uint8_t)syscall_signature_position(s, SYSCALL_ARG_PATH, 1),
			.file = (uint8_t)syscall_signature_file(s),
			.closes = syscall_signature_closes(s),
			.address = (uint8_t)syscall_signature_position(
				s, SYSCALL_ARG_SOCKET_ADDRESS, 0),
		};
	}
}

static int load_programs(struct syscalls_bpf *p, const struct probe_env *env, struct err *err)
{
	struct pidns ns;
	int r;

	if (bpf_pidns_find(env->root_fd, &ns, err) < 0)
		return -err->code;
	p->skel = syscalls_skel__open();
	if (!p->skel)
		return err_set(err, ENOMEM, "open the system call programs: %s", strerror(ENOMEM));
	p->skel->rodata->pidns_level = ns.level;
	p->skel->rodata->pidns_reader = ns.reader;
	p->skel->rodata->flight_calls = env->flight_calls;
	if (env->flight_calls) {
		set_flight_rules(p);
		p->skel->maps.ring.max_entries = FLIGHT_RING_BYTES;
	}
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
	if (bpf_check_rights(err) < 0 || load_programs(p, env, err) < 0 ||
	    ring_buffer_open(p->skel->maps.ring.map_fd,
	                     env->flight_calls ? FLIGHT_RING_BYTES : SYSCALL_RING_BYTES, &p->ring,
	                     err) < 0)
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
static int visit_threads(struct syscalls_bpf *p, enum syscall_pass pass, struct err *err)
{
	char none[64];

	p->skel->bss->pass = pass;
	p->skel->bss->pass_traced = p->skel->bss->pass_open = 0;
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
		r = visit_threads(p, SYSCALL_PASS_TRACE, err);
	for (size_t i = 0; i < n; i++)
		(void)skel_map_delete_elem(wanted, &pids[i]);
	return r;
}

static int syscalls_bpf_report_living(void *self, struct err *err)
{
	struct syscalls_bpf *p = self;

	if (!p->is_attached || !p->skel->rodata->flight_calls)
		return 0;
	return visit_threads(p, SYSCALL_PASS_FLIGHTS, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

static syscall_id call_of(uint32_t call)
{
	return syscall_id_of((enum syscall_abi)(call >> SYSCALL_ABI_SHIFT),
	                     call & ((1u << SYSCALL_ABI_SHIFT) - 1));
}

static struct proc_id process_of(const struct syscall_head *head)
{
	return (struct proc_id){ (pid_t)head->pid, head->start_ns / NS_PER_TICK };
}

/* The kernel fills what it is given to the last byte but one, and leaves out the rest. */
static void take_text(const struct flight_entry *e, struct flight_call *c)
{
	const size_t half = sizeof e->text / 2, room = e->more_len ? half : sizeof e->text;

	c->text_len = (uint8_t)MIN(e->text_len, room);
	c->more_len = (uint8_t)MIN(e->more_len, half);
	memcpy(c->text, e->text, c->text_len);
	memcpy(c->text + c->text_len, e->text + half, c->more_len);
	c->name_is_cut = e->flags & FLIGHT_NAME_IS_CUT;
	c->text_is_address = e->flags & FLIGHT_IS_ADDRESS;
	c->path_is_unread = e->flags & FLIGHT_PATH_IS_UNREAD;
	c->more_is_unread = e->flags & FLIGHT_MORE_IS_UNREAD;
	c->path_is_cut = e->text_len == room - 1;
	c->more_is_cut = e->more_len == half - 1;
}
static_assert(FLIGHT_TEXT_MAX == FLIGHT_TEXT && SYSCALL_ARGS == FLIGHT_ARGS &&
                      FLIGHT_CALLS_MAX <= FLIGHT_PAGES * FLIGHT_PAGE_CALLS,
              "the programs keep what a model of it has room for");

static bool take_call(struct sample *out, const struct flight_page *page,
                      const struct flight_entry *e)
{
	struct flight_call *c = vec_push(&out->flight_calls, FLIGHT_SAMPLE_CALLS_MAX);

	if (!c)
		return false;
	*c = (struct flight_call){ .entered_ns = e->entered_ns,
		                   .left_ns = e->left_ns,
		                   .result = e->result,
		                   .call = call_of(e->call - 1),
		                   .tid = (pid_t)page->tid,
		                   .file_type = e->file_type,
		                   .file_inode = e->file_inode };
	memcpy(c->args, e->args, sizeof c->args);
	take_text(e, c);
	return true;
}

static void take_page(struct syscalls_bpf *p, const struct flight_page *page, size_t len)
{
	struct sample *out = p->out;
	const size_t head = offsetof(struct flight_page, calls);
	struct flight_piece *piece = len >= head && page->head.pid
	                                     ? vec_push(&out->flights, FLIGHT_PIECES_MAX)
	                                     : NULL;

	if (!piece)
		return;
	*piece = (struct flight_piece){ .id = process_of(&page->head),
		                        .wait_status = page->wait_status,
		                        .has_lost = page->lost != 0,
		                        .keep = p->skel->rodata->flight_calls,
		                        .at = (uint32_t)out->flight_calls.len };
	for (size_t i = 0; i < MIN((len - head) / sizeof page->calls[0], FLIGHT_PAGE_CALLS); i++)
		if (page->calls[i].call && page->calls[i].entered_ns >= page->since_ns &&
		    !take_call(out, page, &page->calls[i]))
			piece->has_lost = true;
	piece->len = (uint32_t)out->flight_calls.len - piece->at;
}

static void take_record(void *self, const void *bytes, size_t len)
{
	struct syscalls_bpf *p = self;
	const struct syscall_report *r = bytes;

	if (len >= sizeof r->head && r->head.len == FLIGHT_LEN) {
		take_page(p, bytes, len);
		return;
	}

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
		use->id = process_of(&r->head);
		use->c = (struct syscall_count){
			.call = call_of(c->call),
			.error = c->error,
			.count = c->count,
			.ns = c->ns,
		};
	}
}

static void report_lost_flights(struct syscalls_bpf *p)
{
	static const char text[] =
		"the last calls of some processes were lost: too many failed at once";
	uint64_t lost = __atomic_load_n(&p->skel->bss->flights_dropped, __ATOMIC_RELAXED);
	struct event *e = lost != p->flights_lost ? sample_add_event(p->out, EVENT_PROBE) : NULL;

	if (e) {
		e->boot_ns = p->out->boot_ns;
		e->text = sample_add_text(p->out, text, strlen(text));
	}
	p->flights_lost = lost;
}

static bool has_open(const struct syscalls_bpf *p)
{
	return p->skel->bss->pass_open || __atomic_load_n(&p->skel->bss->unknown, __ATOMIC_RELAXED);
}

/* Between ticks only those that have ended report. */
static int syscalls_bpf_read(void *self, struct sample *out, struct err *err)
{
	struct syscalls_bpf *p = self;
	bool visits = out->request.want & WANT_SYSCALLS;
	uint64_t lost;

	out->syscalls_are_open = has_open(p);
	if (!p->is_attached)
		return 0;
	if (visits && visit_threads(p, SYSCALL_PASS_COUNTS, err) < 0)
		return -err->code;
	p->out = out;
	if (ring_buffer_drain(p->ring, take_record, p, err) < 0)
		return -err->code;
	lost = __atomic_load_n(&p->skel->bss->dropped, __ATOMIC_RELAXED) +
	       __atomic_load_n(&p->skel->bss->untraced, __ATOMIC_RELAXED);
	out->syscalls_lost |= lost != p->lost;
	p->lost = lost;
	out->syscalls_are_open = has_open(p);
	report_lost_flights(p);
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
	                 : "calls of run --syscalls, which slows all processes meanwhile");
}

const struct probe_ops probe_syscalls_bpf = {
	.name = "syscalls-bpf",
	.flags = PROBE_NEEDS_BPF | PROBE_BRINGS_EVENTS | PROBE_OPENS_EARLY | PROBE_TRACES,
	.open = syscalls_bpf_open,
	.read = syscalls_bpf_read,
	.fd = syscalls_bpf_fd,
	.trace = syscalls_bpf_trace,
	.report_living = syscalls_bpf_report_living,
	.health = syscalls_bpf_health,
	.close = syscalls_bpf_close,
};
