/* SPDX-License-Identifier: MIT */
#include "job/pressure.h"

#include <stdio.h>

#include <math.h>

#include "check.h"

static struct pressure_facts quiet(void)
{
	return (struct pressure_facts){ .machine_used = 100,
		                        .machine_total = 1000,
		                        .processes = 10,
		                        .processes_limit = 1000,
		                        .memory_stall_ratio = 0 };
}

/* used of 1000, the level before, the level that is right */
static void test_pressure_judge__knows_each_boundary_of_memory(void **state)
{
	static const struct {
		uint64_t used;
		enum pressure_level before, right;
	} cases[] = {
		{ 0, PRESSURE_NONE, PRESSURE_NONE },
		{ 500, PRESSURE_NONE, PRESSURE_NONE },
		{ 501, PRESSURE_NONE, PRESSURE_LOW },
		{ 700, PRESSURE_NONE, PRESSURE_LOW },
		{ 701, PRESSURE_NONE, PRESSURE_MEDIUM },
		{ 850, PRESSURE_NONE, PRESSURE_MEDIUM },
		{ 851, PRESSURE_NONE, PRESSURE_HIGH },
		{ 950, PRESSURE_NONE, PRESSURE_HIGH },
		{ 951, PRESSURE_NONE, PRESSURE_CRITICAL },
		{ 1000, PRESSURE_LOW, PRESSURE_CRITICAL },
		/* down only when well below */
		{ 901, PRESSURE_CRITICAL, PRESSURE_CRITICAL },
		{ 899, PRESSURE_CRITICAL, PRESSURE_HIGH },
		{ 801, PRESSURE_HIGH, PRESSURE_HIGH },
		{ 799, PRESSURE_HIGH, PRESSURE_MEDIUM },
		{ 651, PRESSURE_MEDIUM, PRESSURE_MEDIUM },
		{ 649, PRESSURE_MEDIUM, PRESSURE_LOW },
		{ 451, PRESSURE_LOW, PRESSURE_LOW },
		{ 449, PRESSURE_LOW, PRESSURE_NONE },
		{ 449, PRESSURE_CRITICAL, PRESSURE_NONE },
		{ 801, PRESSURE_MEDIUM, PRESSURE_MEDIUM },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pressure_facts f = quiet();

		f.machine_used = cases[i].used;
		assert_int_equal(pressure_judge(&f, cases[i].before).level, cases[i].right);
		f.machine_used = 0;
		f.memory_used = cases[i].used;
		f.memory_limit = 1000;
		assert_int_equal(pressure_judge(&f, cases[i].before).level, cases[i].right);
	}
}

static void test_pressure_judge__takes_the_worst_and_gives_the_reason(void **state)
{
	struct pressure_facts f = quiet();
	struct pressure p;

	(void)state;
	assert_string_equal(pressure_judge(&f, PRESSURE_NONE).why, "");
	f.machine_used = 600;
	f.memory_used = 90;
	f.memory_limit = 100;
	p = pressure_judge(&f, PRESSURE_NONE);
	assert_int_equal(p.level, PRESSURE_HIGH);
	assert_string_equal(p.why, "90 % of the memory limit in force (100 B) is in use");
	f.memory_limit_name = "the memory limit";
	snprintf(f.memory_group, sizeof f.memory_group, "/slurm/job_77");
	assert_string_equal(pressure_judge(&f, PRESSURE_NONE).why,
	                    "90 % of the memory limit of /slurm/job_77 (100 B) is in use");
	snprintf(f.memory_group, sizeof f.memory_group,
	         "/system.slice/slurmstepd.scope/uid_1000/job_77\033[31m/step_0");
	assert_string_equal(
		pressure_judge(&f, PRESSURE_NONE).why,
		"90 % of the memory limit of …/uid_1000/job_77\\x1b[31m/step_0 (100 B) is in use");
	f.processes = 801;
	p = pressure_judge(&f, PRESSURE_NONE);
	assert_int_equal(p.level, PRESSURE_CRITICAL);
	assert_string_equal(p.why, "80 % of the processes allowed (1000) is in use");
	f.processes = 800;
	assert_int_equal(pressure_judge(&f, PRESSURE_NONE).level, PRESSURE_HIGH);
	f = quiet();
	f.memory_stall_ratio = 0.41;
	assert_int_equal(pressure_judge(&f, PRESSURE_NONE).level, PRESSURE_HIGH);
	f.memory_stall_ratio = 1;
	assert_int_equal(pressure_judge(&f, PRESSURE_NONE).level, PRESSURE_HIGH);
}

static void test_pressure_judge__fails_closed_when_it_is_blind(void **state)
{
	struct pressure_facts f = quiet();

	(void)state;
	f.is_blind = true;
	assert_int_equal(pressure_judge(&f, PRESSURE_NONE).level, PRESSURE_CRITICAL);
}

static void test_pressure_judge__leaves_out_what_is_not_known(void **state)
{
	struct pressure_facts f = { .memory_used = 5, .processes = 5, .memory_stall_ratio = NAN };

	(void)state;
	assert_int_equal(pressure_judge(&f, PRESSURE_CRITICAL).level, PRESSURE_NONE);
}

static void test_pressure_facts__count_the_users_tasks_against_the_users_limit(void **state)
{
	struct snapshot snap = { .procs_complete = true };
	struct pressure_limits users = { .own_processes = 500, .uid = 7 };
	struct pressure_limits given = { .own_processes = 500, .uid = 7, .processes = 10 };

	(void)state;
	for (uint32_t uid = 6; uid < 9; uid++) {
		struct proc_snap *p = vec_push(&snap.procs, 8);

		p->s.uid = uid;
		readings_set(&p->s.r, PROC_THREADS, 4);
	}
	assert_int_equal(pressure_facts(&snap, &users).processes, 4);
	assert_int_equal(pressure_facts(&snap, &users).processes_limit, 500);
	assert_int_equal(pressure_facts(&snap, &given).processes, 3);
	assert_int_equal(pressure_facts(&snap, &given).processes_limit, 10);
	vec_done(&snap.procs);
}

static void test_pressure_facts__prefer_the_limit_in_force_to_the_machine(void **state)
{
	struct snapshot snap = { .procs_complete = true, .psi_mem_ratio = 0.25 };
	struct pressure_limits none = { .own_processes = 500 };
	struct pressure_limits ours = { .memory = 70, .processes = 7, .own_processes = 500 };
	struct pressure_facts f;

	(void)state;
	readings_set(&snap.host, HOST_MEM_TOTAL, 1000);
	readings_set(&snap.host, HOST_MEM_USED, 300);
	f = pressure_facts(&snap, &none);
	assert_int_equal(f.machine_total, 1000);
	assert_int_equal(f.memory_limit, 0);
	assert_int_equal(f.processes_limit, 500);
	assert_false(f.is_blind);
	f = pressure_facts(&snap, &ours);
	assert_int_equal(f.memory_used, 300);
	assert_int_equal(f.memory_limit, 70);
	readings_set(&snap.cgroup, CGROUP_MEM, 59); /* most of it files */
	readings_set(&snap.cgroup, CGROUP_MEM_LIMIT_USED, 30);
	readings_set(&snap.cgroup, CGROUP_MEM_LIMIT, 60);
	readings_set(&snap.cgroup, CGROUP_PIDS_LIMIT_USED, 3);
	readings_set(&snap.cgroup, CGROUP_PIDS_LIMIT, 9);
	f = pressure_facts(&snap, &none);
	assert_int_equal(f.memory_used, 30);
	assert_int_equal(f.memory_limit, 60);
	assert_int_equal(f.processes, 3);
	assert_int_equal(f.processes_limit, 9);
	assert_int_equal(pressure_facts(&snap, &ours).processes_limit, 7);
	snap.procs_complete = false;
	assert_true(pressure_facts(&snap, &none).is_blind);
}

static void test_pressure_admits__sheets_longer_than_jobs(void **state)
{
	static const bool job[] = { true, true, true, false, false };
	static const bool sheet[] = { true, true, true, true, false };
	static const unsigned delay[] = { 0, 2, 10, 30, 60 };
	enum pressure_level level;

	(void)state;
	for (int i = 0; i < PRESSURE_LEVEL_COUNT; i++) {
		assert_int_equal(pressure_admits((enum pressure_level)i, true), job[i]);
		assert_int_equal(pressure_admits((enum pressure_level)i, false), sheet[i]);
		assert_int_equal(pressure_delay_s((enum pressure_level)i), delay[i]);
		assert_true(pressure_parse(pressure_name((enum pressure_level)i), &level));
		assert_int_equal(level, i);
	}
	assert_false(pressure_parse("hihg", &level));
}

static void test_pressure_has_room__compares_an_estimate_with_what_is_available(void **state)
{
	const struct pressure_facts both = {
		.memory_used = 3, .memory_limit = 10, .machine_used = 80, .machine_total = 100
	};
	const struct pressure_facts machine = { .machine_used = 80, .machine_total = 100 };
	uint64_t available = 0;

	assert_true(pressure_has_room(&both, 7, &available));
	assert_false(pressure_has_room(&both, 8, &available));
	assert_int_equal(available, 7);
	assert_true(pressure_has_room(&both, 11, &available)); /* it never will */
	assert_false(pressure_has_room(&machine, 21, &available));
	assert_int_equal(available, 20);
	assert_true(pressure_has_room(&(struct pressure_facts){ 0 }, 1,
	                              &available));           /* nothing is known */
	assert_true(pressure_has_room(&both, 0, &available)); /* no estimate */
}

RUN_TESTS(TEST(test_pressure_has_room__compares_an_estimate_with_what_is_available),
          TEST(test_pressure_judge__knows_each_boundary_of_memory),
          TEST(test_pressure_judge__takes_the_worst_and_gives_the_reason),
          TEST(test_pressure_judge__fails_closed_when_it_is_blind),
          TEST(test_pressure_judge__leaves_out_what_is_not_known),
          TEST(test_pressure_facts__count_the_users_tasks_against_the_users_limit),
          TEST(test_pressure_facts__prefer_the_limit_in_force_to_the_machine),
          TEST(test_pressure_admits__sheets_longer_than_jobs))
