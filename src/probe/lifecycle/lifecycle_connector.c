/* SPDX-License-Identifier: MIT */
/* Births, programs and ends of processes, reported by the kernel's proc connector over netlink. It
 * gives numbers only: names, users and start times are looked up in /proc at once, or remembered from
 * before when the process is gone. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "probe/lifecycle/connector_receiver.h"
#include "probe/tasks/command_cache.h"
#include "probe/probe.h"
#include "kernel/process_reader.h"
#include "probe/lifecycle/process_names.h"

#define BATCH 256 /* events, and so processes, at a time */
#define EVENTS_PER_READ                                                                            \
	16384 /* what is left is read by the next call: a storm must not hold up the tick */
#define BUFFER_ENOUGH_BYTES (1 << 20)
#define LINGERING_MAX 4096

/* The end of a leader whose other threads may go on. */
struct lingering {
	struct event exit;
	bool is_over; /* no thread was left when we checked; its own end may still be on the way to
	                 us */
};

struct connector {
	struct connector_receiver *receiver;
	uint64_t lost;
	struct process_names names;
	struct process_reader *reader;                /* the host's */
	struct connector_message_event events[BATCH]; /* of the last batch */
	size_t event_count;
	struct process_request requests[BATCH]; /* about the processes in them */
	size_t request_count;
	uint64_t requested_boot_ns; /* when these were sent */
	VEC(struct lingering) lingering;
};

static void connector_close(void *self_)
{
	struct connector *self = self_;

	if (!self)
		return;
	connector_receiver_close(self->receiver);
	process_names_done(&self->names);
	vec_done(&self->lingering);
	free(self);
}

DEFINE_CLEANUP(struct connector *, connector_close)

static int connector_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	cleanup(connector_closep) struct connector *self = xcalloc(1, sizeof *self);

	process_names_init(&self->names);
	if (!env->is_live)
		return err_set(err, ENOTSUP,
		               "the proc connector reports this machine, not a frozen tree");
	self->reader = env->reader;
	if (connector_receiver_open(CONNECTOR_RECEIVER_BYTES, &self->receiver, err) < 0)
		return -err->code;
	*ret_self = TAKE_PTR(self);
	return 0;
}

/* ---- which process it was -------------------------------------------------------------------- */

struct found {
	struct known known;
	uint64_t threads;
	bool is_zombie;
};

static struct process_request *find_request(struct connector *self, pid_t pid)
{
	for (size_t i = 0; i < self->request_count; i++)
		if (self->requests[i].pid == pid)
			return &self->requests[i];
	return NULL;
}

/* A request for each process that an event of this batch may need to look up, all at once: asking
 * for each by itself would cost more than the reading. */
static void add_request(struct connector *self, const struct connector_message_event *ev)
{
	bool is_end = ev->kind == CONNECTOR_MESSAGE_EXIT;
	struct process_request *q = find_request(self, ev->tgid);

	if (ev->pid != ev->tgid ||
	    (ev->kind != CONNECTOR_MESSAGE_FORK && ev->kind != CONNECTOR_MESSAGE_EXEC && !is_end) ||
	    (is_end && (q || process_names_find(&self->names, ev->tgid))))
		return;
	if (!q) {
		q = &self->requests[self->request_count++];
		*q = (struct process_request){ .pid = ev->tgid, .files = 1U << PROCESS_STAT };
	}
	if (ev->kind == CONNECTOR_MESSAGE_EXEC)
		q->files |= 1U << PROCESS_CMDLINE;
}

/* The state in /proc, if that process had begun by then: the pid may belong to another already. */
static bool parse_found(const struct process_request *q, uint64_t boot_ns, struct found *ret)
{
	struct process_files_stat st;

	if (!q || q->error || !process_files_parse_stat(q->text[PROCESS_STAT], &st) ||
	    st.start_ticks > boot_ns / NS_PER_TICK + 1)
		return false;
	*ret = (struct found){ .known = { .id = { q->pid, st.start_ticks }, .uid = q->uid },
		               .threads = st.threads,
		               .is_zombie = st.state == 'Z' || st.state == 'X' };
	memcpy(ret->known.comm, st.comm, sizeof st.comm);
	return true;
}

static bool look_up(struct connector *self, pid_t pid, uint64_t boot_ns, struct found *ret)
{
	if (!parse_found(find_request(self, pid), boot_ns, ret))
		return false;
	ret->known.named_ns = self->requested_boot_ns;
	return true;
}

static void describe(struct event *e, const struct known *known, uint64_t boot_ns)
{
	e->boot_ns = boot_ns;
	e->id = known->id;
	e->uid = known->uid;
	memcpy(e->comm, known->comm, sizeof e->comm);
}

static void remember(struct connector *self, struct known known, uint64_t boot_ns)
{
	known.changed_ns = boot_ns;
	process_names_put(&self->names, &known);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* A child that is gone already, or hangs, began at the time of the event, within a tick, and has the
 * name of its parent. */
static void take_fork(struct connector *self, const struct connector_message_event *ev,
                      uint64_t boot_ns, struct sample *out)
{
	struct known *parent = process_names_find(&self->names, ev->parent);
	struct found found;
	struct event *e;
	bool is_read = look_up(self, ev->tgid, boot_ns, &found) &&
	               found.known.id.start_ticks * NS_PER_TICK + NS_PER_S >= boot_ns;

	if (!is_read) {
		found.known = parent ? *parent : (struct known){ 0 };
		found.known.id = (struct proc_id){ ev->tgid, boot_ns / NS_PER_TICK };
		found.known.named_ns = boot_ns;
	}
	e = sample_add_event(out, EVENT_SPAWN);
	if (e) {
		describe(e, &found.known, boot_ns);
		e->ppid = ev->parent;
		e->is_start_guessed = !is_read;
	}
	remember(self, found.known, boot_ns);
}

static void revive(struct connector *self, const struct event *exit, uint64_t boot_ns)
{
	struct known known = { .id = exit->id, .uid = exit->uid, .named_ns = boot_ns };

	memcpy(known.comm, exit->comm, sizeof known.comm);
	remember(self, known, boot_ns);
}

static bool undo_lingering_exit(struct connector *self, pid_t pid, uint64_t boot_ns)
{
	vec_each(&self->lingering, l) {
		if (l->exit.id.pid != pid)
			continue;
		revive(self, &l->exit, boot_ns);
		*l = self->lingering.at[--self->lingering.len];
		return true;
	}
	return false;
}

/* Takes back the exit that was reported of a process, because only its leader had ended. */
static void undo_reported_exit(struct connector *self, pid_t pid, uint64_t boot_ns,
                               struct sample *out)
{
	vec_each(&out->events, e) {
		if (e->kind != EVENT_EXIT || e->id.pid != pid)
			continue;
		revive(self, e, boot_ns);
		memmove(e, e + 1, (size_t)(out->events.at + --out->events.len - e) * sizeof *e);
		return;
	}
}

/* A thread that runs another program takes the place of its leader: the leader's end was not that
 * of the process. */
static void undo_exit(struct connector *self, pid_t pid, uint64_t boot_ns, struct sample *out)
{
	if (!undo_lingering_exit(self, pid, boot_ns) && !process_names_find(&self->names, pid))
		undo_reported_exit(self, pid, boot_ns, out);
}

/* The program of a process that is gone, or hangs. Its name is that of the program only if it was
 * read after the exec, by us or by this tick; else it has none. */
static struct known recall_program(const struct connector *self, pid_t pid, uint64_t boot_ns,
                                   const struct sample *out)
{
	const struct known *remembered = process_names_find(&self->names, pid);
	const struct proc_sample *p = out->boot_ns > boot_ns ? sample_find_proc(out, pid) : NULL;
	struct known known = remembered ? *remembered : (struct known){ .id.pid = pid };

	if (p && p->id.start_ticks == known.id.start_ticks)
		memcpy(known.comm, p->comm, sizeof known.comm);
	else if (known.named_ns <= boot_ns)
		memset(known.comm, 0, sizeof known.comm);
	return known;
}

static void take_exec(struct connector *self, const struct connector_message_event *ev,
                      uint64_t boot_ns, struct sample *out)
{
	char command[COMMAND_MAX];
	struct found found;
	struct event *e;
	bool is_there = look_up(self, ev->tgid, boot_ns, &found);

	undo_exit(self, ev->tgid, boot_ns, out);
	if (!is_there)
		found.known = recall_program(self, ev->tgid, boot_ns, out);
	e = sample_add_event(out, EVENT_EXEC);
	if (e) {
		describe(e, &found.known, boot_ns);
		if (is_there)
			e->text = sample_add_text(out, command,
			                          command_from_request(find_request(self, ev->tgid),
			                                               found.known.comm, command));
	}
	if (found.known.id.start_ticks)
		remember(self, found.known, boot_ns);
}

/* Whether its last thread has ended, as far as the kernel knows now. Costs a tenth of reading
 * /proc. */
static bool has_ended(pid_t pid)
{
	struct pollfd process = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	bool is_over;

	if (process.fd < 0)
		return errno == ESRCH;
	is_over = poll(&process, 1, 0) > 0;
	close(process.fd);
	return is_over;
}

/* The end of another thread, with a status, is among the next events. */
static bool has_later_thread(const struct connector *self, const struct connector_message_event *ev)
{
	for (const struct connector_message_event *other = ev + 1;
	     other < self->events + self->event_count; other++)
		if (other->kind == CONNECTOR_MESSAGE_EXIT && other->tgid == ev->tgid)
			return other->pid != ev->tgid;
	return false;
}

/* Usually the leader is the last thread, or all of them end together. */
static void take_exit(struct connector *self, const struct connector_message_event *ev,
                      uint64_t boot_ns, struct sample *out)
{
	struct event exit = { .kind = EVENT_EXIT, .job = -1 };
	struct lingering *lingering = NULL;
	struct known *remembered = process_names_find(&self->names, ev->tgid);
	struct found found = { .known.id.pid = ev->tgid };

	if (remembered)
		found.known = *remembered;
	else
		(void)look_up(self, ev->tgid, boot_ns, &found);
	describe(&exit, &found.known, boot_ns);
	event_set_status(&exit, ev->status);
	if (!has_ended(ev->tgid) || has_later_thread(self, ev))
		lingering = vec_push(&self->lingering, LINGERING_MAX);
	if (lingering)
		lingering->exit = exit;
	else
		sample_put_event(out, &exit);
	process_names_forget(&self->names, ev->tgid, boot_ns);
}

/* When a leader went first, how the others ended is how the process ended. Ends without a status are
 * not received. */
static void take_thread_exit(struct connector *self, const struct connector_message_event *ev,
                             uint64_t boot_ns)
{
	vec_each(&self->lingering, l) {
		if (l->exit.id.pid != ev->tgid)
			continue;
		l->exit.boot_ns = boot_ns;
		if (ev->status)
			event_set_status(&l->exit, ev->status);
	}
}

/* One that is no zombie any more was taken over by a thread, whose exec is reported in a moment. */
static bool has_threads_left(const struct process_request *q, const struct event *exit)
{
	struct found found;

	if (q->error == -ETIMEDOUT || q->error == -EBUSY)
		return true;
	return parse_found(q, exit->boot_ns, &found) && (found.threads > 1 || !found.is_zombie) &&
	       (!exit->id.start_ticks || found.known.id.start_ticks == exit->id.start_ticks);
}

/* A process ends with its last thread, and the connector reports the end of each: /proc shows
 * whether any is left. */
static void check_lingering(struct connector *self, struct lingering *lingering, size_t n,
                            uint64_t now_boot_ns)
{
	for (size_t i = 0; i < n; i++)
		self->requests[i] = (struct process_request){ .pid = lingering[i].exit.id.pid,
			                                      .files = 1U << PROCESS_STAT };
	process_reader_read(self->reader, self->requests, n);
	for (size_t i = 0; i < n; i++) {
		lingering[i].is_over = !has_threads_left(&self->requests[i], &lingering[i].exit);
		if (!lingering[i].is_over)
			lingering[i].exit.boot_ns = now_boot_ns; /* it ends later than that */
	}
}

static void settle_lingering(struct connector *self, uint64_t now_boot_ns, struct sample *out)
{
	for (size_t i = 0; i < self->lingering.len;) {
		struct lingering *l = &self->lingering.at[i];

		if (!l->is_over) {
			i++;
			continue;
		}
		sample_put_event(out, &l->exit);
		*l = self->lingering.at[--self->lingering.len];
	}
	vec_shrink(&self->lingering);
	for (size_t i = 0; i < self->lingering.len; i += BATCH)
		check_lingering(self, self->lingering.at + i,
		                MIN(self->lingering.len - i, (size_t)BATCH), now_boot_ns);
}

static void take_change(struct connector *self, const struct connector_message_event *ev,
                        uint64_t boot_ns)
{
	struct known *k = ev->pid == ev->tgid ? process_names_find(&self->names, ev->tgid) : NULL;

	if (!k)
		return;
	k->changed_ns = boot_ns;
	if (ev->kind == CONNECTOR_MESSAGE_COMM) {
		memcpy(k->comm, ev->comm, sizeof k->comm);
		k->named_ns = boot_ns;
	} else {
		k->uid = ev->uid;
	}
}

static void take_event(struct connector *self, const struct connector_message_event *ev,
                       uint64_t boot_ns, struct sample *out)
{
	bool is_process = ev->pid == ev->tgid;

	switch (ev->kind) {
	case CONNECTOR_MESSAGE_FORK:
		if (is_process)
			take_fork(self, ev, boot_ns, out);
		break;
	case CONNECTOR_MESSAGE_EXEC:
		take_exec(self, ev, boot_ns, out);
		break;
	case CONNECTOR_MESSAGE_EXIT:
		if (is_process)
			take_exit(self, ev, boot_ns, out);
		else
			take_thread_exit(self, ev, boot_ns);
		break;
	case CONNECTOR_MESSAGE_COMM:
	case CONNECTOR_MESSAGE_UID:
		take_change(self, ev, boot_ns);
		break;
	case CONNECTOR_MESSAGE_ACK:
	case CONNECTOR_MESSAGE_OTHER:
		break;
	}
}

static void report_loss(struct connector *self, uint64_t now_boot_ns, struct sample *out)
{
	struct event *e;
	uint64_t count;

	if (!connector_receiver_lost(self->receiver, &count))
		return;
	out->events_complete = false;
	self->lost += count;
	e = sample_add_event(out, EVENT_LOSS);
	if (e) {
		e->boot_ns = now_boot_ns;
		e->count = (int64_t)count;
	}
}

static void take_batch(struct connector *self, uint64_t boot_less_mono_ns, struct sample *out)
{
	self->request_count = 0;
	for (size_t i = 0; i < self->event_count; i++)
		add_request(self, &self->events[i]);
	self->requested_boot_ns = clock_boot_ns();
	process_reader_read(self->reader, self->requests, self->request_count);
	for (size_t i = 0; i < self->event_count; i++) {
		const struct connector_message_event *ev = &self->events[i];

		take_event(self, ev, ev->mono_ns + boot_less_mono_ns, out);
	}
}

static int connector_read(void *self_, struct sample *out, struct err *err)
{
	struct connector *self = self_;
	uint64_t now_boot_ns = clock_boot_ns(), boot_less_mono_ns = now_boot_ns - clock_mono_ns();
	unsigned taken = 0;
	int n, rounds = 2; /* the second one for what was sent until we found processes to have ended */

	do {
		n = connector_receiver_take(self->receiver, self->events, BATCH, err);
		if (n < 0)
			return n;
		self->event_count = (size_t)n;
		take_batch(self, boot_less_mono_ns, out);
		taken += (unsigned)n;
		rounds -= n < BATCH;
	} while (n > 0 && rounds > 0 && taken < EVENTS_PER_READ);
	settle_lingering(self, now_boot_ns, out);
	report_loss(self, now_boot_ns, out);
	if (out->procs.len)
		process_names_learn(&self->names, out);
	return 0;
}

static int connector_fd(const void *self_)
{
	const struct connector *self = self_;

	return connector_receiver_fd(self->receiver);
}

static void connector_health(const void *self_, struct probe_health *ret)
{
	const struct connector *self = self_;
	int buffer_bytes = connector_receiver_buffer_bytes(self->receiver);

	*ret = (struct probe_health){ .state = PROBE_WORKS,
		                      .source = "proc connector",
		                      .lost = self->lost };
	snprintf(ret->note, sizeof ret->note,
	         "spawns, execs and exits; no signals, no out-of-memory kills, no exact totals");
	if (buffer_bytes < BUFFER_ENOUGH_BYTES) {
		ret->state = PROBE_DEGRADED;
		snprintf(
			ret->note, sizeof ret->note,
			"bursts of events may be lost: the buffer is %d KiB (CAP_NET_ADMIN or net.core.rmem_max)",
			buffer_bytes >> 10);
	}
}

const struct probe_ops probe_lifecycle_connector = {
	.name = "lifecycle-connector",
	.flags = PROBE_BRINGS_EVENTS | PROBE_REPORTS_BIRTHS | PROBE_OPENS_EARLY,
	.open = connector_open,
	.read = connector_read,
	.fd = connector_fd,
	.health = connector_health,
	.close = connector_close,
};
