/* SPDX-License-Identifier: MIT */
#include "job/cgroup/cgroup_name.h"

#include "check.h"

static void test_cgroup_job_name__knows_slurm_and_scopes(void **state)
{
	const struct {
		const char *path, *id; /* NULL: none */
		const char *group;     /* what belongs to it is below */
	} rows[] = {
		{ "/slurm/uid_1000/job_123/step_0/task_0", "slurm-123.0",
		  "/slurm/uid_1000/job_123/step_0" },
		{ "/slurm/uid_1000/job_123/step_batch/task_0", "slurm-123",
		  "/slurm/uid_1000/job_123" },
		{ "/slurm/uid_1000/job_123", "slurm-123", "/slurm/uid_1000/job_123" },
		{ "/slurm_node7/uid_0/job_9/step_4294967291", "slurm-9.4294967291",
		  "/slurm_node7/uid_0/job_9/step_4294967291" },
		{ "/system.slice/slurmstepd.scope/job_123/step_0/user/task_0", "slurm-123.0",
		  "/system.slice/slurmstepd.scope/job_123/step_0" },
		{ "/system.slice/n1_slurmstepd.scope/job_5/step_extern/user", "slurm-5",
		  "/system.slice/n1_slurmstepd.scope/job_5" },
		{ "/system.slice/slurmstepd.scope/system", NULL, NULL },
		{ "/slurm/uid_1000/job_x/step_0", NULL, NULL },
		{ "/slurm/uid_1000/job_12x", NULL, NULL },
		{ "/batch/job_123", NULL, NULL },
		{ "/system.slice/run-u12.scope", "run-u12", "/system.slice/run-u12.scope" },
		{ "/system.slice/run-u12.scope/below/it", "run-u12",
		  "/system.slice/run-u12.scope" },
		{ "/system.slice/run-r8f3.service", "run-r8f3", "/system.slice/run-r8f3.service" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/nightly.scope",
		  "nightly",
		  "/user.slice/user-1000.slice/user@1000.service/app.slice/nightly.scope" },
		{ "/a/big\\x2drun.scope", "big_x2drun", "/a/big\\x2drun.scope" },
		{ "/user.slice/user-1000.slice/session-3.scope", NULL, NULL },
		{ "/user.slice/user@1000.service/app.slice/app-gnome-x-12.scope", NULL, NULL },
		{ "/user.slice/user@1000.service/app.slice/vte-spawn-1.scope", NULL, NULL },
		{ "/init.scope", NULL, NULL },
		{ "/system.slice/cron.service", NULL, NULL },
		{ "/a/last.scope", NULL, NULL },
		{ "/.scope", NULL, NULL },
		{ "/", NULL, NULL },
		{ "", NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct cgroup_job job = { 0 };

		if (cgroup_job_name(rows[i].path, &job) != (rows[i].id != NULL))
			fail_msg("'%s': %s", rows[i].path, job.id);
		if (!rows[i].id)
			continue;
		assert_string_equal(job.id, rows[i].id);
		assert_int_equal(job.len, strlen(rows[i].group));
	}
}

static void test_cgroup_may_be_a_job__is_what_holds_no_others(void **state)
{
	const struct {
		const char *path;
		bool may;
	} rows[] = {
		{ "/batch/night", true },
		{ "/docker/0a1b", true },
		{ "/system.slice/run-u12.scope", true },
		{ "/slurm/uid_1/job_2/step_0", true },
		{ "/", false },
		{ "", false },
		{ "/user.slice", false },
		{ "/system.slice/cron.service", false },
		{ "/user.slice/session-3.scope", false },
		{ "/init.scope", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (cgroup_may_be_a_job(rows[i].path) != rows[i].may)
			fail_msg("'%s'", rows[i].path);
}

RUN_TESTS(TEST(test_cgroup_job_name__knows_slurm_and_scopes),
          TEST(test_cgroup_may_be_a_job__is_what_holds_no_others))
