/* SPDX-License-Identifier: MIT */
/* Births, programs and ends of processes, reported by the kernel's proc connector over netlink. It
 * gives numbers only: names, users and start times are looked up in /proc at once, or remembered from
 * before when the process is gone. */
#include <errno.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/thread.h"
#include "model/own_program.h"
#include "probe/lifecycle/connector_message.h"
#include "probe/tasks/command_cache.h"
#include "probe/probe.h"
#include "kernel/process_reader.h"
#include "probe/lifecycle/process_names.h"

#define BATCH 64 /* datagrams, and so processes, at a time */
#define DATAGRAM_MAX 256
#define EVENTS_PER_READ                                                                            \
	16384 /* what is left is read by the next call: a storm must not hold up the tick */
#define BUFFER_BYTES (8 << 20) /* holds some 10,000 events */
#define BUFFER_ENOUGH_BYTES (1 << 20)
#define CPUS_MAX 8192
#define SEQ_KNOWN (UINT64_C(1) << 32)
#define LINGERING_MAX 4096
#define TEST_RECEPTION_MS 50

/* The end of a leader whose other threads may go on. */
struct lingering {
	struct event exit;
	bool is_over; /* no thread was left when we checked; its own end may still be on the way to
	                 us */
};

struct connector {
	int fd;
	int buffer_bytes;
	uint32_t nonce;
	uint64_t lost;
	bool overflowed;        /* the buffer was full and events were lost, since the last read */
	uint64_t missing;       /* numbers missing in the sequence, since the last read */
	VEC(uint64_t) next_seq; /* by CPU, with SEQ_KNOWN; 0: none was received */
	struct process_names names;
	struct process_reader *reader;                /* the host's */
	struct connector_message_event events[BATCH]; /* of the last batch */
	size_t event_count;
	struct process_request requests[BATCH]; /* about the processes in them */
	size_t request_count;
	VEC(struct lingering) lingering;
	struct mmsghdr messages[BATCH];
	struct iovec pieces[BATCH];
	struct sockaddr_nl senders[BATCH];
	_Alignas(8) char bytes[BATCH][DATAGRAM_MAX];
};

static bool send_request(struct connector *self, bool listen)
{
	char request[CONNECTOR_MESSAGE_REQUEST_BYTES];
	size_t n = connector_message_request(listen, self->nonce, request);

	return send(self->fd, request, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static void connector_close(void *self_)
{
	struct connector *self = self_;

	if (!self)
		return;
	/* Kernels before 6.6 go on making events for a listener that left without a word. */
	if (self->fd >= 0)
		(void)send_request(self, false);
	process_names_done(&self->names);
	vec_done(&self->next_seq);
	vec_done(&self->lingering);
	closep(&self->fd);
	free(self);
}

DEFINE_CLEANUP(struct connector *, connector_close)

/* ---- receiving ------------------------------------------------------------------------------- */

/* Every CPU numbers its events. ENOBUFS is reported once for any number of losses; the numbers show
 * how many. */
static void watch_sequence(struct connector *self, const struct connector_message_event *ev)
{
	uint64_t *next;

	if (ev->cpu >= CPUS_MAX) /* old kernels answer requests as "CPU -1", without a number */
		return;
	while (self->next_seq.len <= ev->cpu)
		(void)vec_push(&self->next_seq, CPUS_MAX);
	next = &self->next_seq.at[ev->cpu];
	if (*next)
		self->missing += ev->seq - (uint32_t)*next;
	*next = SEQ_KNOWN | (uint32_t)(ev->seq + 1);
}

static void prepare_batch(struct connector *self)
{
	for (unsigned i = 0; i < BATCH; i++) {
		self->pieces[i] = (struct iovec){ self->bytes[i], DATAGRAM_MAX };
		self->messages[i].msg_hdr = (struct msghdr){ .msg_name = &self->senders[i],
			                                     .msg_namelen = sizeof self->senders[i],
			                                     .msg_iov = &self->pieces[i],
			                                     .msg_iovlen = 1 };
	}
}

/* How many datagrams came; 0 when there are none now. */
static int receive_batch(struct connector *self, struct err *err)
{
	for (;;) {
		int n;

		prepare_batch(self);
		n = recvmmsg(self->fd, self->messages, BATCH, MSG_DONTWAIT, NULL);
		if (n >= 0)
			return n;
		if (errno == ENOBUFS)
			self->overflowed = true;
		else if (errno == EAGAIN)
			return 0;
		else if (errno != EINTR)
			return err_set(err, errno, "receive from the proc connector: %s",
			               strerror(errno));
	}
}

/* Any process may write to our socket; only port 0 is the kernel. */
static bool parse_message(struct connector *self, unsigned i, struct connector_message_event *ret)
{
	if (self->senders[i].nl_pid != 0 ||
	    !connector_message_parse(self->bytes[i], self->messages[i].msg_len, ret))
		return false;
	watch_sequence(self, ret);
	return true;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void enlarge_buffer(struct connector *self)
{
	int bytes = BUFFER_BYTES;
	socklen_t len = sizeof self->buffer_bytes;

	if (setsockopt(self->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
		(void)setsockopt(self->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	if (getsockopt(self->fd, SOL_SOCKET, SO_RCVBUF, &self->buffer_bytes, &len) < 0)
		self->buffer_bytes = 0;
}

static int open_socket(struct connector *self, struct err *err)
{
	struct sockaddr_nl us = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };

	self->fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
	if (self->fd < 0)
		return err_set(err, errno, "proc connector: %s", strerror(errno));
	enlarge_buffer(self);
	if (bind(self->fd, (struct sockaddr *)&us, sizeof us) < 0)
		return err_set(err, errno, "proc connector: %s%s", strerror(errno),
		               errno == EPERM ? ": this kernel asks for CAP_NET_ADMIN" : "");
	if (!send_request(self, true))
		return err_set(err, errno, "proc connector: %s%s", strerror(errno),
		               errno == ECONNREFUSED ? ": there is none in this network namespace"
		                                     : "");
	return 0;
}

struct test_result {
	bool is_granted, has_birth;
	uint32_t refusal; /* an errno value */
};

static void receive_test(struct connector *self, pid_t child, struct test_result *ret,
                         struct err *err)
{
	int n;

	while ((n = receive_batch(self, err)) > 0) {
		for (unsigned i = 0; i < (unsigned)n; i++) {
			struct connector_message_event ev;

			if (!parse_message(self, i, &ev))
				continue;
			if (ev.kind == CONNECTOR_MESSAGE_ACK && ev.nonce == self->nonce) {
				ret->is_granted = !ev.status;
				ret->refusal = ev.status;
			}
			ret->has_birth |= ev.kind == CONNECTOR_MESSAGE_FORK && ev.tgid == child;
		}
	}
}

/* From another pid or user namespace our request is taken and never answered. Events may come all
 * the same, as long as another process listens; so both are awaited: the answer, and an event that we
 * make. Both are sent before the calls that cause them return: no load on the machine can make us
 * miss them. */
static int test_reception(struct connector *self, struct err *err)
{
	struct pollfd poll_fd = { .fd = self->fd, .events = POLLIN };
	struct test_result h = { 0 };
	pid_t child = thread_fork_helper(OURS_NETLINK);

	if (child == 0)
		_exit(0);
	if (child < 0)
		return err_set(err, -child, "proc connector: fork to test it: %s",
		               strerror(-child));
	receive_test(self, child, &h, err);
	if (!h.refusal && !(h.is_granted && h.has_birth) &&
	    poll(&poll_fd, 1, TEST_RECEPTION_MS) > 0)
		receive_test(self, child, &h, err);
	while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	if (h.refusal)
		return err_set(err, (int)h.refusal, "proc connector: refused: %s",
		               strerror((int)h.refusal));
	if (!h.is_granted || !h.has_birth)
		return err_set(
			err, ENOMSG,
			"proc connector: mute: we are not in the initial pid and user namespace");
	return 0;
}

static int connector_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	cleanup(connector_closep) struct connector *self = xcalloc(1, sizeof *self);

	self->fd = -1;
	process_names_init(&self->names);
	self->nonce = (uint32_t)clock_mono_ns() ^ (uint32_t)getpid() << 16;
	if (!env->is_live)
		return err_set(err, ENOTSUP,
		               "the proc connector reports this machine, not a frozen tree");
	self->reader = env->reader;
	if (open_socket(self, err) < 0 || test_reception(self, err) < 0)
		return -err->code;
	self->missing = 0;
	self->overflowed = false;
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

/* What /proc shows now, if that process had begun by then: the pid may belong to another already. */
static bool parse_found(const struct process_request *q, uint64_t boot_ns, struct found *ret)
{
	struct process_files_stat st;

	if (!q || q->error || !process_files_parse_stat(q->text[PROCESS_STAT], &st) ||
	    st.start_ticks > boot_ns / NS_PER_TICK + 1)
		return false;
	*ret = (struct found){ .known = { .id = { q->pid, st.start_ticks },
		                          .uid = q->uid,
		                          .is_threaded = st.threads > 1 },
		               .threads = st.threads,
		               .is_zombie = st.state == 'Z' || st.state == 'X' };
	memcpy(ret->known.comm, st.comm, sizeof st.comm);
	return true;
}

static bool look_up(struct connector *self, pid_t pid, uint64_t boot_ns, struct found *ret)
{
	return parse_found(find_request(self, pid), boot_ns, ret);
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

	if (!look_up(self, ev->tgid, boot_ns, &found) ||
	    found.known.id.start_ticks * NS_PER_TICK + NS_PER_S < boot_ns) {
		found.known = parent ? *parent : (struct known){ 0 };
		found.known.id = (struct proc_id){ ev->tgid, boot_ns / NS_PER_TICK };
		found.known.is_threaded = false;
	}
	e = sample_add_event(out, EVENT_SPAWN);
	if (e) {
		describe(e, &found.known, boot_ns);
		e->ppid = ev->parent;
	}
	remember(self, found.known, boot_ns);
}

static void take_thread(struct connector *self, const struct connector_message_event *ev,
                        uint64_t boot_ns)
{
	struct known *k = process_names_find(&self->names, ev->tgid);

	if (!k)
		return;
	k->is_threaded = true;
	k->changed_ns = boot_ns;
}

/* A thread that runs another program takes the place of its leader: the leader's end was not that
 * of the process. */
static void undo_exit(struct connector *self, pid_t pid, uint64_t boot_ns)
{
	for (size_t i = 0; i < self->lingering.len; i++) {
		const struct event *exit = &self->lingering.at[i].exit;
		struct known known = { .id = exit->id, .uid = exit->uid };

		if (exit->id.pid != pid)
			continue;
		memcpy(known.comm, exit->comm, sizeof known.comm);
		self->lingering.at[i] = self->lingering.at[--self->lingering.len];
		remember(self, known, boot_ns);
		return;
	}
}

static void take_exec(struct connector *self, const struct connector_message_event *ev,
                      uint64_t boot_ns, struct sample *out)
{
	struct known *remembered;
	char command[COMMAND_MAX];
	struct found found;
	struct event *e;
	bool is_there = look_up(self, ev->tgid, boot_ns, &found);

	undo_exit(self, ev->tgid, boot_ns);
	remembered = process_names_find(&self->names, ev->tgid);
	if (!is_there)
		found.known = remembered ? *remembered : (struct known){ .id.pid = ev->tgid };
	e = sample_add_event(out, EVENT_EXEC);
	if (e) {
		describe(e, &found.known, boot_ns);
		if (is_there)
			e->text = sample_add_text(out, command,
			                          command_from_request(find_request(self, ev->tgid),
			                                               found.known.comm, command));
	}
	if (is_there)
		remember(self, found.known, boot_ns);
}

static void report_exit(const struct event *exit, struct sample *out)
{
	struct event *e = sample_add_event(out, EVENT_EXIT);

	if (e)
		*e = *exit;
}

static void take_exit(struct connector *self, const struct connector_message_event *ev,
                      uint64_t boot_ns, struct sample *out)
{
	struct event exit = { .kind = EVENT_EXIT, .job = -1 };
	struct lingering *lingering;
	struct known *remembered = process_names_find(&self->names, ev->tgid);
	struct found found = { .known.id.pid = ev->tgid };

	if (remembered)
		found.known = *remembered;
	else
		(void)look_up(self, ev->tgid, boot_ns, &found);
	describe(&exit, &found.known, boot_ns);
	event_set_status(&exit, ev->status);
	lingering = found.known.is_threaded ? vec_push(&self->lingering, LINGERING_MAX) : NULL;
	if (lingering)
		lingering->exit = exit;
	else
		report_exit(&exit, out);
	process_names_forget(&self->names, ev->tgid, boot_ns);
}

/* When a leader went first, how the others ended is how the process ended. */
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
static void check_lingering(struct connector *self, struct lingering *lingering, size_t n)
{
	for (size_t i = 0; i < n; i++)
		self->requests[i] = (struct process_request){ .pid = lingering[i].exit.id.pid,
			                                      .files = 1U << PROCESS_STAT };
	process_reader_read(self->reader, self->requests, n);
	for (size_t i = 0; i < n; i++)
		lingering[i].is_over = !has_threads_left(&self->requests[i], &lingering[i].exit);
}

static void settle_lingering(struct connector *self, struct sample *out)
{
	for (size_t i = 0; i < self->lingering.len;) {
		struct lingering *l = &self->lingering.at[i];

		if (!l->is_over) {
			i++;
			continue;
		}
		report_exit(&l->exit, out);
		*l = self->lingering.at[--self->lingering.len];
	}
	vec_shrink(&self->lingering);
	for (size_t i = 0; i < self->lingering.len; i += BATCH)
		check_lingering(self, self->lingering.at + i,
		                MIN(self->lingering.len - i, (size_t)BATCH));
}

static void take_change(struct connector *self, const struct connector_message_event *ev,
                        uint64_t boot_ns)
{
	struct known *k = ev->pid == ev->tgid ? process_names_find(&self->names, ev->tgid) : NULL;

	if (!k)
		return;
	k->changed_ns = boot_ns;
	if (ev->kind == CONNECTOR_MESSAGE_COMM)
		memcpy(k->comm, ev->comm, sizeof k->comm);
	else
		k->uid = ev->uid;
}

static void take_event(struct connector *self, const struct connector_message_event *ev,
                       uint64_t boot_ns, struct sample *out)
{
	bool is_process = ev->pid == ev->tgid;

	switch (ev->kind) {
	case CONNECTOR_MESSAGE_FORK:
		if (is_process)
			take_fork(self, ev, boot_ns, out);
		else
			take_thread(self, ev, boot_ns);
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

/* How many were lost is not known (0) until the next event of the CPU that lost them. */
static void report_loss(struct connector *self, uint64_t now_boot_ns, struct sample *out)
{
	struct event *e;

	if (!self->overflowed && !self->missing)
		return;
	out->events_complete = false;
	self->lost += self->missing;
	e = sample_add_event(out, EVENT_LOSS);
	if (e) {
		e->boot_ns = now_boot_ns;
		e->count = (int64_t)self->missing;
	}
	self->overflowed = false;
	self->missing = 0;
}

static void take_batch(struct connector *self, unsigned n, uint64_t boot_less_mono_ns,
                       struct sample *out)
{
	self->event_count = self->request_count = 0;
	for (unsigned i = 0; i < n; i++) {
		struct connector_message_event *ev = &self->events[self->event_count];

		if (!parse_message(self, i, ev))
			continue;
		add_request(self, ev);
		self->event_count++;
	}
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
	int n = 0;

	while (taken < EVENTS_PER_READ && (n = receive_batch(self, err)) > 0) {
		take_batch(self, (unsigned)n, boot_less_mono_ns, out);
		taken += (unsigned)n;
	}
	if (n < 0)
		return n;
	settle_lingering(self, out);
	report_loss(self, now_boot_ns, out);
	if (out->procs.len)
		process_names_learn(&self->names, out);
	return 0;
}

static int connector_fd(const void *self_)
{
	const struct connector *self = self_;

	return self->fd;
}

static void connector_health(const void *self_, struct probe_health *ret)
{
	const struct connector *self = self_;

	*ret = (struct probe_health){ .state = PROBE_WORKS,
		                      .source = "proc connector",
		                      .lost = self->lost };
	snprintf(ret->note, sizeof ret->note,
	         "spawns, execs and exits; no signals, no out-of-memory kills, no exact totals");
	if (self->buffer_bytes < BUFFER_ENOUGH_BYTES) {
		ret->state = PROBE_DEGRADED;
		snprintf(
			ret->note, sizeof ret->note,
			"bursts of events may be lost: the buffer is %d KiB (CAP_NET_ADMIN or net.core.rmem_max)",
			self->buffer_bytes >> 10);
	}
}

const struct probe_ops probe_lifecycle_connector = {
	.name = "lifecycle-connector",
	.flags = PROBE_REPORTS_BIRTHS | PROBE_OPENS_EARLY,
	.open = connector_open,
	.read = connector_read,
	.fd = connector_fd,
	.health = connector_health,
	.close = connector_close,
};
