/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_turns.h"

#include "base/clock.h"
#include "check.h"

#define CONNECTIONS 8

/* Connections that always have more to do, and one that asks for root every few milliseconds. */
struct table {
	struct rpc_turns turns;
	struct loop *loop;
	struct rpc_turn each[CONNECTIONS], root;
	struct loop_source *asker;
	unsigned served[CONNECTIONS], root_served;
	uint64_t used_ns[2], longest_ns; /* of the two users; a machine that is busy makes a call long */
	uint64_t end_ns;
};

static struct table *current;

static void burn(uint64_t ns)
{
	uint64_t end_ns = clock_mono_ns() + ns;

	while (clock_mono_ns() < end_ns)
		;
}

static void serve(struct rpc_turn *turn, uint64_t until_ns)
{
	struct table *t = current;
	uint64_t begin_ns = clock_mono_ns(), took_ns;

	(void)until_ns;
	if (turn == &t->root) {
		t->root_served++;
		return;
	}
	t->served[turn - t->each]++;
	burn(NS_PER_MS / 2);
	took_ns = clock_mono_ns() - begin_ns;
	t->used_ns[turn != t->each] += took_ns;
	t->longest_ns = MAX(t->longest_ns, took_ns);
	rpc_turns_wait(&t->turns, turn);
}

static void on_ask(void *self)
{
	struct table *t = self;

	assert_true(rpc_turns_ask(&t->turns, &t->root)); /* at once, although others wait */
	if (clock_mono_ns() >= t->end_ns)
		loop_stop(t->loop);
	loop_timer_set(t->asker, clock_mono_ns() + NS_PER_MS);
}

/* One user has a single connection, another one has seven. */
static void test_rpc_turns__gives_users_the_same_time_and_root_precedence(void **state)
{
	struct table t = { .end_ns = clock_mono_ns() + 200 * NS_PER_MS };
	uint64_t begin_ns = clock_mono_ns(), burnt_ns;
	unsigned others = 0;
	struct err err;

	(void)state;
	current = &t;
	assert_int_equal(loop_new(&t.loop, &err), 0);
	rpc_turns_init(&t.turns, t.loop, serve);
	rpc_turns_enter(&t.turns, &t.root, 0, true);
	for (int i = 0; i < CONNECTIONS; i++) {
		rpc_turns_enter(&t.turns, &t.each[i], i ? 1000 : 1001, false);
		(void)rpc_turns_ask(&t.turns, &t.each[i]);
	}
	t.asker = loop_add_timer(t.loop, 0, on_ask, &t);
	assert_int_equal(loop_run(t.loop, &err), 0);
	burnt_ns = clock_mono_ns() - begin_ns;
	for (int i = 1; i < CONNECTIONS; i++) {
		assert_true(t.served[i] > 0);
		others += t.served[i];
	}
	/* Beginning with the first call of each; and a call is also stopped outside of what is measured here. */
	assert_true(t.used_ns[0] + 2 * t.longest_ns > t.used_ns[1] / 2);
	assert_true(t.used_ns[1] + 2 * t.longest_ns > t.used_ns[0] / 2);
	/* The two of them had half of the time, a call more or less. */
	assert_true((t.served[0] + others) * (NS_PER_MS / 2) < burnt_ns * 3 / 4);
	assert_true(t.root_served > 5);
	for (int i = 0; i < CONNECTIONS; i++)
		rpc_turns_leave(&t.turns, &t.each[i]);
	rpc_turns_leave(&t.turns, &t.root);
	rpc_turns_done(&t.turns);
	loop_remove(t.asker);
	loop_free(t.loop);
}

/* Connecting again does not make up for it. */
static void test_rpc_turns__remembers_what_a_user_used(void **state)
{
	struct table t = { 0 };
	struct rpc_turn again;
	struct err err;

	(void)state;
	current = &t;
	assert_int_equal(loop_new(&t.loop, &err), 0);
	rpc_turns_init(&t.turns, t.loop, serve);
	rpc_turns_enter(&t.turns, &t.each[0], 1000, false);
	assert_true(rpc_turns_ask(&t.turns, &t.each[0]));
	rpc_turns_leave(&t.turns, &t.each[0]);
	rpc_turns_enter(&t.turns, &again, 1001, false);
	assert_int_equal(again.user->used_ns, 0);
	rpc_turns_leave(&t.turns, &again);
	rpc_turns_enter(&t.turns, &again, 1000, false);
	assert_true(again.user->used_ns >= NS_PER_MS / 2);
	rpc_turns_leave(&t.turns, &again);
	rpc_turns_done(&t.turns);
	loop_free(t.loop);
}

RUN_TESTS(TEST(test_rpc_turns__gives_users_the_same_time_and_root_precedence),
          TEST(test_rpc_turns__remembers_what_a_user_used))
