/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "fake_machine.h"

static void test_host_probe__reads_a_whole_machine(void **state)
{
	struct probe_env env = tree_frozen("proc-6.18");
	struct sample s = { 0 };
	void *self = tree_probe(&probe_system, &env, &s);
	struct probe_health h;

	(void)state;
	assert_string_equal(s.boot_id, "f2d4b4a9-6c3b-4c1e-9a53-0d9f6c1a7d52");
	for (int id = 0; id < HOST_METRIC_COUNT; id++)
		if (id != HOST_MEM_USED && id != HOST_SELF_RSS && id != HOST_SELF_CPU)
			assert_true(readings_has(&s.host, id));
	assert_false(readings_has(&s.host, HOST_SELF_RSS)); /* a frozen tree is not where we run */
	assert_int_equal(s.host.value[HOST_DISK_READ] % 512, 0);
	assert_true(s.host.value[HOST_CPU_TOTAL] >= s.host.value[HOST_CPU_IDLE]);
	probe_system.health(self, &h);
	assert_int_equal(h.state, PROBE_WORKS);
	probe_system.close(self);
	sample_done(&s);
	close(env.root_fd);
}

static void test_host_probe__names_what_an_old_kernel_lacks(void **state)
{
	struct probe_env env = tree_frozen("proc-5.10");
	struct sample s = { 0 };
	void *self = tree_probe(&probe_system, &env, &s);
	struct probe_health h;

	(void)state;
	assert_false(readings_has(&s.host, HOST_PSI_CPU_SOME));
	assert_false(readings_has(&s.host, HOST_PSI_IO_FULL));
	assert_int_equal(s.host.value[HOST_DISK_READ], (901234 + 2000 + 8) * 512);
	assert_int_equal(s.host.value[HOST_NET_RX], 1234567890 + 100);
	assert_int_equal(s.host.value[HOST_BLOCKED], 2);
	probe_system.health(self, &h);
	assert_int_equal(h.state, PROBE_DEGRADED);
	assert_non_null(strstr(h.note, "pressure/memory"));
	probe_system.close(self);
	sample_done(&s);
	close(env.root_fd);
}

static void test_host_probe__sees_new_values_and_files_that_come_back(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct probe_health h;
	struct err err = { 0 };
	void *self;

	(void)state;
	tree_puts(&t, "proc/loadavg", "1.00 2.00 3.00 1/1 1\n");
	tree_fifo(&t, "proc/meminfo"); /* must not make us wait */
	self = tree_probe(&probe_system, &t.env, &s);
	assert_int_equal(s.host.value[HOST_LOAD_1], 1000);
	assert_false(readings_has(&s.host, HOST_MEM_TOTAL));
	tree_puts(&t, "proc/loadavg", "4.00 2.00 3.00 1/1 1\n");
	unlinkat(t.env.root_fd, "proc/meminfo", 0);
	tree_puts(&t, "proc/meminfo", "MemTotal: 4 kB\n");
	sample_reset(&s);
	assert_int_equal(probe_system.read(self, &s, &err), 0);
	assert_int_equal(s.host.value[HOST_LOAD_1], 4000);
	assert_int_equal(s.host.value[HOST_MEM_TOTAL], 4096);
	probe_system.health(self, &h);
	assert_int_equal(h.state, PROBE_DEGRADED);
	assert_null(strstr(h.note, "meminfo"));
	probe_system.close(self);
	sample_done(&s);
	tree_remove(&t);
}

static void test_host_probe__refuses_a_root_without_proc(void **state)
{
	struct tree t = tree_new();
	struct err err = { 0 };
	void *self = NULL;

	(void)state;
	assert_int_equal(probe_system.open(&t.env, &self, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "is /proc mounted?"));
	assert_null(self);
	tree_remove(&t);
}

static void test_host_probe__works_on_this_machine_and_measures_itself(void **state)
{
	struct probe_env env = tree_live();
	struct sample s = { 0 };
	void *self = tree_probe(&probe_system, &env, &s);

	(void)state;
	assert_true(s.host.value[HOST_MEM_TOTAL] > s.host.value[HOST_MEM_AVAILABLE]);
	assert_true(s.host.value[HOST_SELF_RSS] > 100 << 10);
	assert_true(readings_has(&s.host, HOST_SELF_CPU));
	assert_true(s.host.value[HOST_CPU_TOTAL] > 0);
	assert_int_equal(strlen(s.boot_id), 36);
	probe_system.close(self);
	sample_done(&s);
	close(env.root_fd);
}

RUN_TESTS(TEST(test_host_probe__reads_a_whole_machine),
          TEST(test_host_probe__names_what_an_old_kernel_lacks),
          TEST(test_host_probe__sees_new_values_and_files_that_come_back),
          TEST(test_host_probe__refuses_a_root_without_proc),
          TEST(test_host_probe__works_on_this_machine_and_measures_itself))
