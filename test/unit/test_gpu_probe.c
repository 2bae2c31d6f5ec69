/* SPDX-License-Identifier: MIT */
/* The GPU probe with a library that is fake. */
#include "fake_machine.h"
#include "kernel/pid_namespace.h"

static struct probe_env live_env(void)
{
	struct probe_env env = tree_live();

	env.gpu_helper = SELF;
	return env;
}

static void *open_probe(const struct probe_ops *ops, const struct probe_env *env)
{
	struct err err = { 0 };
	void *self = NULL;

	if (ops->open(env, &self, &err) < 0)
		fail_msg("open: %s", err.msg);
	return self;
}

static void test_gpu_probe__fills_the_sample_and_its_processes(void **state)
{
	struct probe_env env = live_env();
	struct sample s = { 0 };
	struct err err = { 0 };
	struct proc_sample *p;
	char mood[64];
	void *self;

	snprintf(mood, sizeof mood, "pids=%d:512:37,4194303:1:1", getpid());
	use_library("fake-nvml.so", mood);
	self = open_probe(&probe_gpu_nvml, &env);
	assert_int_equal(probe_gpu_nvml.read(self, &s, &err), 0); /* starts nothing */
	assert_int_equal(s.gpus.len, 0);
	assert_int_equal(probe_gpu_nvml.await(self, clock_mono_ns() + PATIENCE_NS, &err), 0);
	p = sample_add_proc(&s);
	p->id = (struct proc_id){ getpid(), 77 };
	s.mono_ns = clock_mono_ns();
	assert_int_equal(probe_gpu_nvml.read(self, &s, &err), 0);
	assert_int_equal(s.gpus.len, 1);
	assert_int_equal(s.gpus.at[0].r.value[GPU_UTIL], 50);
	assert_int_equal(s.gpu_uses.len, 2);
	if (pid_namespace_is_initial(env.root_fd)) {
		assert_int_equal(s.gpu_uses.at[0].id.start_ticks, 77);
		assert_int_equal(p->r.value[PROC_GPU_MEM], 512 * MIB);
		assert_int_equal(p->r.value[PROC_GPU_SM], 37);
	} else { /* this test runs in a container, and holds no GPU */
		assert_true(s.gpu_uses.at[0].has_host_pid);
		assert_int_equal(p->r.present, 0);
	}
	probe_gpu_nvml.close(self);
	sample_done(&s);
	close(env.root_fd);
}

/* The figures go, the GPU stays. */
static void test_gpu_probe__knows_nothing_while_the_library_hangs(void **state)
{
	struct probe_env env = live_env();
	struct sample s = { 0 };
	struct err err = { 0 };
	uint64_t now_ns;
	void *self;

	use_library("fake-nvml.so", "hang=utilization after=2");
	self = open_probe(&probe_gpu_nvml, &env);
	assert_int_equal(probe_gpu_nvml.await(self, clock_mono_ns() + PATIENCE_NS, &err), 0);
	now_ns = clock_mono_ns(); /* from here on time goes as we set it: the machine may be slow */
	for (int ticks = 0; ticks == 0 || s.gpus.at[0].r.present; ticks++) {
		if (ticks == 8)
			fail_msg("figures of %d ticks ago are shown", ticks - 2);
		sample_reset(&s);
		s.mono_ns = now_ns += 120 * NS_PER_MS;
		assert_int_equal(probe_gpu_nvml.read(self, &s, &err), 0);
		assert_int_equal(s.gpus.len, 1);
		if (ticks == 0 || s.gpus.at[0].r.present)
			assert_int_equal(s.gpus.at[0].r.value[GPU_UTIL], 50); /* of a moment ago */
		assert_int_equal(s.events.len, 0);
	}
	sample_reset(&s);
	s.mono_ns = now_ns + 2500 * NS_PER_MS; /* past its time */
	assert_int_equal(probe_gpu_nvml.read(self, &s, &err), 0);
	assert_int_equal(s.gpus.len, 1);
	assert_int_equal(s.gpus.at[0].r.present, 0);
	assert_int_equal(s.events.len, 1);
	assert_int_equal(s.events.at[0].kind, EVENT_PROBE);
	probe_gpu_nvml.close(self);
	sample_done(&s);
	close(env.root_fd);
}

static void test_gpu_probe__counts_its_helper_as_our_cost(void **state)
{
	struct probe_env env = live_env();
	struct sample s = { 0 };
	struct err err = { 0 };
	void *self;

	use_library("fake-nvml.so", "");
	self = open_probe(&probe_gpu_nvml, &env);
	assert_int_equal(probe_gpu_nvml.await(self, clock_mono_ns() + PATIENCE_NS, &err), 0);
	readings_set(&s.host, HOST_SELF_CPU, 1000);
	readings_set(&s.host, HOST_SELF_RSS, 1000);
	s.mono_ns = clock_mono_ns();
	assert_int_equal(probe_gpu_nvml.read(self, &s, &err), 0);
	assert_true(s.host.value[HOST_SELF_CPU] > 1000);
	assert_true(s.host.value[HOST_SELF_RSS] > MIB);
	probe_gpu_nvml.close(self);
	sample_done(&s);
	close(env.root_fd);
}

static void assert_health(enum probe_state wanted, const char *note)
{
	struct probe_env env = live_env();
	void *self = open_probe(&probe_gpu_nvml, &env);
	struct probe_health health;
	struct err err;

	(void)!probe_gpu_nvml.await(self, clock_mono_ns() + PATIENCE_NS, &err);
	probe_gpu_nvml.health(self, &health);
	assert_int_equal(health.state, wanted);
	assert_string_equal(health.source, "NVML");
	if (!strstr(health.note, note))
		fail_msg("'%s' is not in '%s'", note, health.note);
	probe_gpu_nvml.close(self);
	close(env.root_fd);
}

static void test_gpu_probe__reports_its_health(void **state)
{
	use_library("fake-nvml.so", "gpus=2");
	assert_health(PROBE_WORKS, "2 GPUs, driver 535.104.05");
	use_library("fake-nvml.so", "unsupported=power,temperature");
	assert_health(PROBE_WORKS,
	              "1 GPU, driver 535.104.05; not reported: temperature_c, power_w");
	use_library("fake-nvml.so", "gpus=0");
	assert_health(PROBE_ABSENT, "the driver knows no GPU");
	use_library("fake-nvml.so", "init=18");
	assert_health(PROBE_ABSENT, "version mismatch");
}

static void test_gpu_probe__opens_only_where_there_is_a_device(void **state)
{
	struct tree t = tree_new();
	struct probe_env env = t.env;
	struct err err = { 0 };
	void *self = NULL;

	unsetenv(GPU_ENV_NVML);
	unsetenv(GPU_ENV_SMI);
	env.gpu_helper = SELF;
	assert_int_equal(probe_gpu_nvml.open(&env, &self, &err), -ENODEV); /* a frozen tree */
	env.is_live = true;
	assert_int_equal(probe_gpu_nvml.open(&env, &self, &err), -ENODEV);
	assert_string_equal(err.msg, "no NVIDIA device found");
	tree_puts(&t, "dev/nvidiactl", "");
	env.gpu_helper = NULL;
	assert_int_equal(probe_gpu_nvml.open(&env, &self, &err), -ENODEV);
	assert_string_equal(err.msg, "switched off");
	env.gpu_helper = SELF;
	assert_int_equal(probe_gpu_nvml.open(&env, &self, &err), 0);
	probe_gpu_nvml.close(self);
	tree_remove(&t);
}

static bool holds_device(const struct tree *t, pid_t pid)
{
	struct process_request q = { .pid = pid, .device = "/dev/nvidia" };

	process_reader_read(t->env.reader, &q, 1);
	return q.has_device;
}

static void test_process_reader__finds_the_process_that_holds_the_device(void **state)
{
	struct tree t = tree_new();

	assert_false(pid_namespace_is_initial(t.env.root_fd));
	assert_false(holds_device(&t, 42));
	tree_mkdirs(&t, "proc/42/fd/x");
	assert_int_equal(symlinkat("/dev/null", t.env.root_fd, "proc/42/fd/0"), 0);
	assert_int_equal(symlinkat("/dev/nv", t.env.root_fd, "proc/42/fd/1"), 0);
	assert_false(holds_device(&t, 42));
	assert_int_equal(symlinkat("/dev/nvidia0", t.env.root_fd, "proc/42/fd/17"), 0);
	assert_true(holds_device(&t, 42));
	tree_remove(&t);
}

RUN_TESTS_OR_HELP(TEST(test_gpu_probe__fills_the_sample_and_its_processes),
                  TEST(test_gpu_probe__knows_nothing_while_the_library_hangs),
                  TEST(test_gpu_probe__counts_its_helper_as_our_cost),
                  TEST(test_gpu_probe__reports_its_health),
                  TEST(test_gpu_probe__opens_only_where_there_is_a_device),
                  TEST(test_process_reader__finds_the_process_that_holds_the_device))
