/* SPDX-License-Identifier: MIT */
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "check.h"
#include "connector_kit.h"
#include "probe/lifecycle/connector_filter.h"
#include "probe/lifecycle/connector_queue.h"
#include "probe/lifecycle/connector_receiver.h"

/* ---- the filter, run by the kernel on messages of ours --------------------------------------- */

struct filtered {
	int in, out;
};

static struct filtered filtered_open(unsigned share, unsigned n)
{
	struct sock_filter filter[CONNECTOR_FILTER_MAX];
	struct sock_fprog program = { .filter = filter };
	int pair[2];

	program.len = (unsigned short)connector_filter_make(share, n, filter);
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(
		setsockopt(pair[1], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
	return (struct filtered){ pair[0], pair[1] };
}

static void filtered_close(struct filtered *f)
{
	close(f->in);
	close(f->out);
}

/* A message that is filtered out was sent all the same. */
static bool passes(const struct filtered *f, const char *message, size_t n)
{
	char received[CONNECTOR_KIT_BYTES];
	ssize_t got;

	(void)!send(f->in, message, n, MSG_DONTWAIT);
	got = recv(f->out, received, sizeof received, MSG_DONTWAIT);
	if (got < 0)
		return false;
	assert_int_equal(got, n);
	assert_memory_equal(received, message, n);
	return true;
}

static bool passes_event(const struct filtered *f, uint32_t what, const int32_t data[static 6])
{
	char bytes[CONNECTOR_KIT_BYTES];
	size_t n = connector_kit_message(bytes, what, 0, data, 6 * sizeof *data);

	return passes(f, bytes, n);
}

static void test_connector_filter__drops_what_only_concerns_threads_or_no_process(void **state)
{
	static const struct {
		uint32_t what;
		int32_t data[6];
		bool is_needed;
	} rows[] = {
		{ PROC_EVENT_NONE, { 0 }, true },
		{ PROC_EVENT_FORK, { 10, 10, 20, 20 }, true },
		{ PROC_EVENT_FORK, { 11, 10, 20, 20 }, true }, /* forked by a thread */
		{ PROC_EVENT_FORK, { 10, 10, 21, 20 }, false },
		{ PROC_EVENT_EXEC, { 20, 20 }, true },
		{ (uint32_t)PROC_EVENT_EXIT, { 20, 20, 0, 17 }, true },
		{ (uint32_t)PROC_EVENT_EXIT, { 20, 20, 9, 17 }, true },
		{ (uint32_t)PROC_EVENT_EXIT, { 21, 20, 0, -1 }, false },
		{ (uint32_t)PROC_EVENT_EXIT, { 21, 20, 0x700, -1 }, true },
		{ PROC_EVENT_COMM, { 20, 20 }, true },
		{ PROC_EVENT_COMM, { 21, 20 }, false },
		{ PROC_EVENT_UID, { 20, 20 }, true },
		{ PROC_EVENT_UID, { 21, 20 }, false },
		{ PROC_EVENT_GID, { 20, 20 }, false },
		{ PROC_EVENT_SID, { 20, 20 }, false },
		{ PROC_EVENT_PTRACE, { 20, 20 }, false },
		{ PROC_EVENT_COREDUMP, { 20, 20 }, false },
	};
	struct filtered f = filtered_open(0, 1);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (passes_event(&f, rows[i].what, rows[i].data) != rows[i].is_needed)
			fail_msg("row %zu", i);
	filtered_close(&f);
}

static void test_connector_filter__gives_each_message_to_one_socket_and_answers_to_the_first(
	void **state)
{
	static const int32_t fork_data[6] = { 10, 10, 20, 20 };
	struct filtered f[8];
	char bytes[CONNECTOR_KIT_BYTES];
	size_t n;

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		f[i] = filtered_open(i, 8);
	for (uint32_t seq = UINT32_MAX - 300; seq != 300; seq++) {
		n = connector_kit_message(bytes, PROC_EVENT_FORK, seq, fork_data, sizeof fork_data);
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(passes(&f[i], bytes, n),
			                 (seq >> CONNECTOR_FILTER_RUN_BITS) % 8 == i);
	}
	n = connector_kit_message(bytes, PROC_EVENT_NONE, 5, fork_data, sizeof fork_data);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(passes(&f[i], bytes, n), i == 0);
		filtered_close(&f[i]);
	}
}

/* ---- the order ------------------------------------------------------------------------------- */

static void add(struct connector_queue *q, uint32_t cpu, uint32_t seq, uint64_t mono_ns)
{
	connector_queue_add(
		q, &(struct connector_message_event){ .cpu = cpu, .seq = seq, .mono_ns = mono_ns });
}

/* The times of all that can be taken, "10 20 30". */
static const char *taken(struct connector_queue *q)
{
	static char text[256];
	struct connector_message_event ev;
	size_t used = 0;

	text[0] = '\0';
	while (connector_queue_take(q, &ev, 1) == 1)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%llu", used ? " " : "",
		                         (unsigned long long)ev.mono_ns);
	return text;
}

static void test_connector_queue__orders_what_several_sockets_and_cpus_gave(void **state)
{
	struct connector_queue q = { 0 };

	(void)state;
	add(&q, 0, 8, 40); /* the first socket's */
	add(&q, 1, 16, 10);
	add(&q, 1, 17, 20); /* the second one's */
	add(&q, 0, 9, 30);
	connector_queue_release(&q, 100);
	assert_string_equal(taken(&q), "10 20 30 40");
	assert_true(connector_queue_is_empty(&q));
	connector_queue_done(&q);
}

static void test_connector_queue__holds_back_what_happened_after_the_round_began(void **state)
{
	struct connector_queue q = { 0 };

	(void)state;
	add(&q, 0, 1, 50); /* an end, whose birth is in a socket that was empty before */
	add(&q, 0, 2, 20);
	connector_queue_release(&q, 30);
	assert_string_equal(taken(&q), "20");
	assert_false(connector_queue_is_empty(&q));
	add(&q, 0, 3, 40); /* the birth */
	connector_queue_release(&q, 60);
	assert_string_equal(taken(&q), "40 50");
	connector_queue_done(&q);
}

static void test_connector_queue__orders_by_number_at_the_same_time_even_where_it_wraps(
	void **state)
{
	struct connector_queue q = { 0 };
	struct connector_message_event ev[4];

	(void)state;
	add(&q, 0, 1, 10);
	add(&q, 0, UINT32_MAX, 10);
	add(&q, 0, 0, 10);
	add(&q, 0, UINT32_MAX - 1, 10);
	connector_queue_release(&q, 10);
	assert_int_equal(connector_queue_take(&q, ev, 4), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(ev[i].seq, UINT32_MAX - 1 + i);
	connector_queue_done(&q);
}

/* Chains of events, each queued before the next of its chain happens, in sockets by number; rounds empty
 * the sockets one after the other, while others fill. */
static void test_connector_queue__keeps_cause_before_effect_whatever_a_round_sees(void **state)
{
	enum { CHAINS = 6, EVENTS = 4000, SOCKETS = 8 };
	struct connector_queue q = { 0 }, sockets[SOCKETS] = { 0 };
	struct connector_message_event ev;
	uint32_t seqs[2] = { UINT32_MAX - 100, 7 }, reached[CHAINS] = { 0 }, random = 1;
	uint64_t now_ns = 1, round_ns = 0, last_ns[CHAINS] = { 0 };
	unsigned socket = SOCKETS, made = 0, seen = 0;

	(void)state;
	while (seen < EVENTS) {
		random = random * 1664525 + 1013904223;
		if (random >> 16 & 3 && made < EVENTS) {
			uint32_t chain = (random >> 20) % CHAINS, cpu = random >> 30 & 1;
			uint32_t seq = seqs[cpu]++;

			now_ns += now_ns == last_ns[chain];
			last_ns[chain] = now_ns;
			connector_queue_add(
				&sockets[seq % SOCKETS],
				&(struct connector_message_event){ .cpu = cpu,
			                                           .seq = seq,
			                                           .mono_ns = now_ns,
			                                           .pid = (pid_t)chain,
			                                           .tgid = (pid_t)made++ });
			now_ns += random >> 28 & 1;
			continue;
		}
		if (socket == SOCKETS) { /* a round begins */
			round_ns = now_ns - 1;
			socket = 0;
		}
		connector_queue_release_all(&sockets[socket]);
		while (connector_queue_take(&sockets[socket], &ev, 1) == 1)
			connector_queue_add(&q, &ev);
		if (++socket < SOCKETS)
			continue;
		connector_queue_release(&q, round_ns);
		while (connector_queue_take(&q, &ev, 1) == 1) {
			assert_true((uint32_t)ev.tgid >= reached[ev.pid]);
			reached[ev.pid] = (uint32_t)ev.tgid;
			seen++;
		}
		now_ns++;
	}
	for (unsigned i = 0; i < SOCKETS; i++)
		connector_queue_done(&sockets[i]);
	connector_queue_done(&q);
}

static void test_connector_queue__drops_and_counts_beyond_its_ceiling(void **state)
{
	struct connector_queue q = { 0 };
	struct connector_message_event ev;

	(void)state;
	for (size_t i = 0; i < CONNECTOR_QUEUE_MAX + 3; i++)
		add(&q, 0, (uint32_t)i, i);
	assert_int_equal(q.dropped, 3);
	connector_queue_release_all(&q);
	for (size_t i = 0; i < CONNECTOR_QUEUE_MAX; i++) {
		assert_int_equal(connector_queue_take(&q, &ev, 1), 1);
		assert_int_equal(ev.mono_ns, i);
	}
	assert_true(connector_queue_is_empty(&q));
	connector_queue_done(&q);
}

/* ---- on the live machine --------------------------------------------------------------------- */

/* The buffer of each of 8 sockets. Together they hold 2,500 events: other tests cause some
 * meanwhile. */
#define ROOMY_BYTES (256 << 10)

static struct connector_receiver *receiver_open(int socket_bytes)
{
	struct connector_receiver *r;
	struct err err = { 0 };

	if (connector_receiver_open(socket_bytes, &r, &err) < 0)
		fail_msg("%s", err.msg);
	return r;
}

#define PIDS_MAX (1 << 22) /* the kernel's */

struct tally {
	size_t events, births, ends; /* the last two: of our children */
	bool is_alive[PIDS_MAX];
};

/* An end counts only after the birth. */
static void tally_event(struct tally *t, const struct connector_message_event *ev)
{
	t->events++;
	if (ev->kind == CONNECTOR_MESSAGE_FORK && ev->parent == getpid()) {
		t->is_alive[ev->tgid] = true;
		t->births++;
	}
	if (ev->kind == CONNECTOR_MESSAGE_EXIT && t->is_alive[ev->tgid]) {
		t->is_alive[ev->tgid] = false;
		t->ends++;
	}
}

static void take_all(struct connector_receiver *r, struct tally *t)
{
	struct connector_message_event events[64];
	struct err err = { 0 };
	int n;

	do {
		n = connector_receiver_take(r, events, ARRAY_LEN(events), &err);
		assert_true(n >= 0);
		for (int i = 0; i < n; i++)
			tally_event(t, &events[i]);
	} while (n == (int)ARRAY_LEN(events));
}

/* The kernel reports an end a moment after it let the parent go on. */
static void await_ends(struct connector_receiver *r, struct tally *t)
{
	for (int i = 0; i < 10000 && t->ends < t->births; i++) {
		usleep(200);
		take_all(r, t);
	}
}

static void test_connector_receiver__gives_all_events_of_eight_sockets_in_order(void **state)
{
	struct connector_receiver *r = receiver_open(ROOMY_BYTES);
	static struct tally t;
	uint64_t lost;

	(void)state;
	assert_int_equal(connector_receiver_buffer_bytes(r), 8 * ROOMY_BYTES);
	for (int i = 0; i < 40; i++) {
		connector_kit_spawn(50);
		take_all(r, &t);
	}
	await_ends(r, &t);
	assert_false(connector_receiver_lost(r, &lost));
	assert_int_equal(t.births, 2000);
	assert_int_equal(t.ends, 2000);
	connector_receiver_close(r);
}

static void test_connector_receiver__counts_every_event_that_found_no_room(void **state)
{
	struct connector_receiver *r = receiver_open(ROOMY_BYTES);
	static struct tally t;
	uint64_t lost = 0;

	(void)state;
	connector_kit_set_buffers(2 << 10);
	connector_kit_spawn(2000);
	take_all(r, &t);
	assert_true(connector_receiver_lost(r, &lost));
	assert_true(t.births < 2000);
	assert_true(lost + t.events >= 4000); /* other processes have births and ends, too */
	t.births = 0;
	for (int i = 0; i < 1000 && !t.births; i++) { /* it recovers */
		connector_kit_spawn(1);
		take_all(r, &t);
	}
	assert_int_equal(t.births, 1);
	connector_receiver_close(r);
}

static void test_connector_receiver__empties_the_sockets_while_no_reader_takes(void **state)
{
	struct connector_receiver *r = receiver_open(ROOMY_BYTES);
	static struct tally t;
	uint64_t lost;

	(void)state;
	connector_kit_spawn(50); /* many: from now on its thread helps */
	take_all(r, &t);
	for (int i = 0; i < 40; i++) { /* more than fits */
		connector_kit_spawn(100);
		while (connector_kit_queued_bytes() > 0)
			usleep(500);
	}
	take_all(r, &t);
	await_ends(r, &t);
	assert_false(connector_receiver_lost(r, &lost));
	assert_int_equal(t.births, 4050);
	assert_int_equal(t.ends, 4050);
	connector_receiver_close(r);
}

static bool is_readable(const struct connector_receiver *r)
{
	struct pollfd fd = { .fd = connector_receiver_fd(r), .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

static void test_connector_receiver__is_readable_while_events_are_left(void **state)
{
	struct connector_receiver *r = receiver_open(ROOMY_BYTES);
	struct connector_message_event ev;
	struct err err = { 0 };
	static struct tally t;

	(void)state;
	connector_kit_spawn(1);
	assert_true(is_readable(r));
	assert_int_equal(connector_receiver_take(r, &ev, 1, &err), 1);
	assert_true(is_readable(r));                     /* what it left is ours by now */
	for (int i = 0; i < 2000 && is_readable(r); i++) /* others may go on */
		take_all(r, &t);
	assert_false(is_readable(r));
	connector_receiver_close(r);
}

RUN_TESTS(TEST(test_connector_filter__drops_what_only_concerns_threads_or_no_process),
          TEST(test_connector_filter__gives_each_message_to_one_socket_and_answers_to_the_first),
          TEST(test_connector_queue__orders_what_several_sockets_and_cpus_gave),
          TEST(test_connector_queue__holds_back_what_happened_after_the_round_began),
          TEST(test_connector_queue__orders_by_number_at_the_same_time_even_where_it_wraps),
          TEST(test_connector_queue__keeps_cause_before_effect_whatever_a_round_sees),
          TEST(test_connector_queue__drops_and_counts_beyond_its_ceiling),
          TEST(test_connector_receiver__gives_all_events_of_eight_sockets_in_order),
          TEST(test_connector_receiver__counts_every_event_that_found_no_room),
          TEST(test_connector_receiver__empties_the_sockets_while_no_reader_takes),
          TEST(test_connector_receiver__is_readable_while_events_are_left))
