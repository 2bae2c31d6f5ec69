/* SPDX-License-Identifier: MIT */
/* The engine on a real loop and the live /proc, with sinks that write down what they are given. */
#include "engine/engine.h"
#include "engine/latest_snapshot.h"

#include <signal.h>
#include <sys/wait.h>

#include "check.h"
#include "engine/registry.h"
#include "fake_machine.h"

struct fixture {
	struct tree tree;
	char *db_path;
	struct loop *loop;
	struct engine *engine;
	struct latest_snapshot latest;
	unsigned ticks, flushes, last_ones;
	char mark[32];  /* the name of the last mark that was handed out */
	char order[16]; /* t and f for a tick and a flush, o for an outcome */
	bool end_is_stored;
};

static void add_to_order(struct fixture *fx, char what)
{
	size_t n = strlen(fx->order);

	if (n < sizeof fx->order - 1)
		fx->order[n] = what;
}

static void take(void *self, const struct snapshot *snap)
{
	struct fixture *fx = self;

	fx->ticks += !snap->events_only;
	fx->flushes += snap->events_only;
	fx->last_ones += snap->is_last;
	add_to_order(fx, snap->events_only ? 'f' : 't');
	vec_each(&snap->events, e)
		if (e->kind == EVENT_MARK)
			snprintf(fx->mark, sizeof fx->mark, "%.*s", (int)e->name.len,
			         snapshot_string(snap, e->name));
}

static void take_outcome(void *self, const struct snapshot *snap, bool is_stored)
{
	struct fixture *fx = self;

	assert_true(snapshot_has_end(snap));
	add_to_order(fx, 'o');
	fx->end_is_stored = is_stored;
	loop_stop(fx->loop);
}

static void stop_loop(void *self)
{
	struct fixture *fx = self;

	loop_stop(fx->loop);
}

/* The timer of the engine fires once at the start; the next tick is an hour away. */
static void run_until_idle(struct fixture *fx)
{
	struct loop_source *timer = loop_add_timer(fx->loop, clock_mono_ns() + 50 * NS_PER_MS,
	                                           stop_loop, fx);
	struct err err;

	assert_int_equal(loop_run(fx->loop, &err), 0);
	loop_remove(timer);
}

static int setup(void **state)
{
	struct fixture *fx = xcalloc(1, sizeof *fx);
	struct engine_options options = { .sampler = { .no_bpf = true, .no_events = true },
		                          .interval_ns = 3600 * NS_PER_S };
	struct pipeline pipeline;
	struct err err;

	*state = fx;
	fx->tree = tree_new();
	fx->db_path = xasprintf("%s/proctor.db", fx->tree.path);
	options.recorder.store.path = fx->db_path;
	if (loop_new(&fx->loop, &err) < 0 || engine_new(fx->loop, &options, &fx->engine, &err) < 0)
		return -1;
	pipeline = (struct pipeline){
		.stages = { { "pressure", ON_TICKS, engine_stage_pressure, fx->engine },
		            { "job figures", ON_BOTH, engine_stage_jobs, fx->engine } },
		.sinks = { { "latest", ON_TICKS, latest_snapshot_take, .self = &fx->latest },
		           { "log", ON_BOTH, take, .outcome = take_outcome, .self = fx },
		           engine_sink_recorder(fx->engine) },
	};
	engine_set_pipeline(fx->engine, &pipeline);
	registry_begin(fx->engine);
	run_until_idle(fx);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fx = *state;

	engine_free(fx->engine);
	latest_snapshot_done(&fx->latest);
	loop_free(fx->loop);
	free(fx->db_path);
	tree_remove(&fx->tree);
	free(fx);
	return 0;
}

static void test_engine__ticks_by_its_timer(void **state)
{
	struct fixture *fx = *state;
	struct engine_status status;

	assert_int_equal(fx->ticks, 1);
	assert_non_null(fx->latest.snap);
	assert_non_null(snapshot_find(fx->latest.snap, getpid()));
	assert_non_null(fx->latest.snap->pressure_level);
	engine_status(fx->engine, &status);
	assert_int_equal(status.totals.ticks, 1);
	assert_int_equal(status.totals.missed_ticks, 0);
}

static void test_engine_emit__reaches_the_sinks_with_a_flush(void **state)
{
	struct fixture *fx = *state;
	const struct snapshot *latest = fx->latest.snap;
	const struct event mark = { .kind = EVENT_MARK, .job = -1 };

	assert_true(engine_emit(fx->engine, &mark, "epoch", "{}"));
	assert_string_equal(fx->mark, "");
	engine_flush(fx->engine);
	assert_string_equal(fx->mark, "epoch");
	assert_string_equal(fx->order, "tf");
	assert_ptr_equal(fx->latest.snap, latest); /* which a flush does not replace */
}

static void test_engine_flush__without_events_hands_out_nothing(void **state)
{
	struct fixture *fx = *state;

	engine_flush(fx->engine);
	assert_int_equal(fx->flushes, 0);
}

static void test_engine_tick__happens_at_once(void **state)
{
	struct fixture *fx = *state;

	engine_tick(fx->engine);
	assert_int_equal(fx->ticks, 2);
}

static void test_engine__reports_the_end_of_a_job_after_it_was_stored(void **state)
{
	struct fixture *fx = *state;
	struct job job = { .id = "short", .type = "test", .uid = geteuid() };
	pid_t child = fork();
	struct err err;

	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(registry_start(fx->engine, &job, child, &job.handle, &err), 0);
	engine_tick(fx->engine);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	engine_tick(fx->engine); /* without event sources the end is inferred */
	if (!fx->end_is_stored)  /* the recorder may be done already: then the tick reported it */
		assert_int_equal(loop_run(fx->loop, &err), 0);
	assert_string_equal(fx->order, "ttto");
	assert_true(fx->end_is_stored);
}

static void test_engine_stop__is_one_last_flush(void **state)
{
	struct fixture *fx = *state;
	const struct event mark = { .kind = EVENT_MARK, .job = -1 };
	struct engine_totals totals;

	assert_true(engine_emit(fx->engine, &mark, "end", "{}"));
	engine_stop(TAKE_PTR(fx->engine), &totals);
	assert_int_equal(fx->last_ones, 1);
	assert_string_equal(fx->order, "tf");
	assert_int_equal(totals.recorder.stored, 1);
	assert_int_equal(totals.recorder.lost, 0);
}

static void test_engine_tune__starts_a_new_grid(void **state)
{
	struct fixture *fx = *state;
	const struct engine_tuning to = { .interval_ns = 10 * NS_PER_MS };
	struct engine_status status;

	engine_tune(fx->engine, &to);
	engine_status(fx->engine, &status);
	assert_int_equal(status.configured_interval_ns, 10 * NS_PER_MS);
	while (fx->ticks < 4)
		run_until_idle(fx);
}

#define ENGINE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(ENGINE_TEST(test_engine__ticks_by_its_timer),
          ENGINE_TEST(test_engine_emit__reaches_the_sinks_with_a_flush),
          ENGINE_TEST(test_engine_flush__without_events_hands_out_nothing),
          ENGINE_TEST(test_engine_tick__happens_at_once),
          ENGINE_TEST(test_engine__reports_the_end_of_a_job_after_it_was_stored),
          ENGINE_TEST(test_engine_stop__is_one_last_flush),
          ENGINE_TEST(test_engine_tune__starts_a_new_grid))
