/* SPDX-License-Identifier: MIT */
#include "view/status_view.h"

#include <string.h>

#include "base/clock.h"
#include "check.h"

static struct status_facts healthy(void)
{
	return (struct status_facts){
		.socket = "/run/proctor/daemon.sock",
		.version = "0.1.0",
		.tier = "tasks-bpf, lifecycle-bpf",
		.pressure = "none",
		.store_path = "/var/lib/proctor/proctor.db",
		.pid = 4711,
		.is_enabled = true,
		.interval_ns = NS_PER_S,
		.configured_interval_ns = NS_PER_S,
		.processes = 312,
	};
}

static void assert_shows(const struct status_facts *s, const char *line)
{
	const struct style style = { .width = 200 };
	struct buf out = { 0 };

	status_view(s, CANVAS(&style, &out));
	buf_putc(&out, '\0');
	if (!strstr(out.at, line))
		fail_msg("no '%s' in:\n%s", line, out.at);
	buf_done(&out);
}

static void test_status_view__is_quiet_when_all_is_well(void **state)
{
	struct status_facts s = healthy();

	(void)state;
	assert_shows(&s, "312 processes every 1 s (tasks-bpf, lifecycle-bpf)\n");
	assert_shows(&s, "losses     none\n");
	assert_shows(&s, "anomalies  none\n");
}

static void test_status_view__lists_running_jobs_and_the_reason_of_pressure(void **state)
{
	struct status_facts s = healthy();

	(void)state;
	s.pressure = "high";
	s.pressure_reason = "90 % of max_memory_mb (500 MiB) is in use";
	s.running_jobs = 3;
	s.n_jobs = 1;
	s.jobs[0] = (struct status_job){ .id = "train-7",
		                         .user = "ana",
		                         .age_ns = 90 * NS_PER_S,
		                         .cpu_ratio = 0.5,
		                         .used_bytes = 1 << 20 };
	assert_shows(&s, "USED\n");
	assert_shows(&s, "high: 90 % of max_memory_mb (500 MiB) is in use\n");
	assert_shows(&s, "train-7");
	assert_shows(&s, "ana");
	assert_shows(&s, "… and 2 more jobs\n");
}

static void test_status_view__shows_that_it_has_stepped_back(void **state)
{
	struct status_facts s = healthy();

	(void)state;
	s.left_out = "PSS and other details";
	assert_shows(&s, "every 1 s (tasks-bpf, lifecycle-bpf), over its own budget: PSS and other "
	                 "details left out\n");
	s.interval_ns = 8 * NS_PER_S;
	assert_shows(&s, "every 8 s (1 s is configured) (tasks-bpf, lifecycle-bpf), over its own "
	                 "budget: PSS and other details left out\n");
}

static void test_status_view__lists_the_anomalies_that_last(void **state)
{
	struct status_facts s = healthy();

	(void)state;
	s.anomalies_active = 2;
	s.anomalies[0] = (struct status_anomaly){ "memory_spike", "train-7", 4711 };
	s.anomalies[1] = (struct status_anomaly){ .type = "memory_pressure" };
	assert_shows(&s, "anomalies  2: memory_spike 4711 (job train-7), memory_pressure\n");
	s.anomalies_active = STATUS_ANOMALIES + 3;
	for (size_t i = 0; i < STATUS_ANOMALIES; i++)
		s.anomalies[i] = (struct status_anomaly){ .type = "zombie", .pid = 10 + (pid_t)i };
	assert_shows(&s, "8: zombie 10, zombie 11, zombie 12, zombie 13, zombie 14 and 3 more\n");
}

static void test_status_view__counts_one_as_one(void **state)
{
	struct status_facts s = healthy();

	(void)state;
	s.processes = s.active_sheets = s.lost_snapshots = s.lost_events = s.unread_events =
		s.missed_ticks = 1;
	assert_shows(&s, "1 process every");
	assert_shows(&s, "1 event not read, 1 not stored; 1 snapshot not stored; 1 missed tick\n");
	assert_shows(&s, "0 running, 1 sheet\n");
}

static void test_status_view__shows_what_a_quota_left_out(void **state)
{
	struct status_facts s = healthy();

	(void)state;
	s.over_quota_samples = 1200;
	s.over_quota_events = 1;
	assert_shows(
		&s,
		"quota      1,200 samples and 1 event dropped: users over their storage quota\n");
}

static void test_status_view__shows_processes_that_hung(void **state)
{
	struct status_facts s = healthy();

	(void)state;
	s.hanging_processes = 8;
	s.refused_reads = 1200;
	assert_shows(
		&s,
		"hanging    8 processes did not answer; 1,200 reads of others of their users left "
		"out\n");
}

static void test_status_view__names_what_was_never_read(void **state)
{
	struct status_facts s = healthy();

	(void)state;
	s.unread_events = 70000;
	assert_shows(&s, "losses     70,000 events not read, 0 not stored; ");
}

RUN_TESTS(TEST(test_status_view__lists_running_jobs_and_the_reason_of_pressure),
          TEST(test_status_view__is_quiet_when_all_is_well),
          TEST(test_status_view__shows_that_it_has_stepped_back),
          TEST(test_status_view__lists_the_anomalies_that_last),
          TEST(test_status_view__names_what_was_never_read),
          TEST(test_status_view__shows_what_a_quota_left_out),
          TEST(test_status_view__shows_processes_that_hung),
          TEST(test_status_view__counts_one_as_one))
