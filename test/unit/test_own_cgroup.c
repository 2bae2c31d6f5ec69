/* SPDX-License-Identifier: MIT */
#include "job/cgroup/own_cgroup.h"

#include "base/mem.h"
#include "check.h"
#include "fake_machine.h"

#define MOUNT "/sys/fs/cgroup"

static void put_process(const struct tree *t, const char *entry, int pid, int ppid,
                        const char *group)
{
	char path[64], text[256];

	snprintf(path, sizeof path, "proc/%s/cgroup", entry);
	snprintf(text, sizeof text, "0::%s\n", group);
	tree_puts(t, path, text);
	snprintf(path, sizeof path, "proc/%s/stat", entry);
	snprintf(text, sizeof text,
	         "%d (x) S %d 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0 0 0 0 0 0 0 0 0 0 0"
	         " 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
	         pid, ppid);
	tree_puts(t, path, text);
}

/* The daemon; the client that registers (60); one above the job's first process (90), which is 100; and one
 * below it (110). */
static void test_own_cgroup__is_not_shared(void **state)
{
	const struct {
		const char *what, *job, *above, *registrar;
		pid_t by;
		const char *own; /* NULL: none */
	} rows[] = {
		{ "a scope", "/system.slice/run-u12.scope", "/", "/", 60,
		  "system.slice/run-u12.scope" },
		{ "a group below it", "/system.slice/run-u12.scope/x", "/", "/", 60,
		  "system.slice/run-u12.scope" },
		{ "registered by itself", "/run-u12.scope", "/", "/", 100, "run-u12.scope" },
		{ "registered from below", "/run-u12.scope", "/", "/", 110, "run-u12.scope" },
		{ "registered by an unknown client", "/run-u12.scope", "/", "/", 0,
		  "run-u12.scope" },
		{ "a group without a name of its own", "/batch/7", "/batch", "/batch", 60,
		  "batch/7" },
		{ "a Slurm step", "/slurm/uid_0/job_7/step_0/task_0", "/slurm", "/", 60,
		  "slurm/uid_0/job_7/step_0" },
		{ "the client is in it", "/run-u12.scope", "/", "/run-u12.scope", 60, NULL },
		{ "its parent is in it", "/run-u12.scope", "/run-u12.scope", "/", 60, NULL },
		{ "a group like ours", "/we", "/", "/", 60, NULL },
		{ "a session", "/user.slice/session-3.scope", "/", "/", 60, NULL },
		{ "a service", "/system.slice/cron.service", "/", "/", 60, NULL },
		{ "the root", "/", "/", "/", 60, NULL },
		{ "out of sight", "/../x", "/", "/", 60, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tree t = tree_new();
		cleanup(freep) char *found = NULL;
		char want[128];

		tree_puts(&t, "proc/self/mountinfo",
		          "35 31 0:32 / " MOUNT " rw shared:9 - cgroup2 cgroup2 rw\n");
		put_process(&t, "self", 40, 1, "/we/are/here");
		put_process(&t, "60", 60, 1, rows[i].registrar);
		put_process(&t, "90", 90, 1, rows[i].above);
		put_process(&t, "100", 100, 90, rows[i].job);
		put_process(&t, "110", 110, 100, rows[i].job);
		found = own_cgroup_find(t.env.root_fd, t.env.reader, 100, rows[i].by);
		snprintf(want, sizeof want, "sys/fs/cgroup/%s", rows[i].own ? rows[i].own : "");
		if ((found != NULL) != (rows[i].own != NULL) || (found && strcmp(found, want) != 0))
			fail_msg("%s: %s", rows[i].what, found ? found : "none");
		tree_remove(&t);
	}
}

static void test_own_cgroup__is_nothing_where_nothing_can_be_read(void **state)
{
	struct tree t = tree_new();

	assert_null(own_cgroup_find(t.env.root_fd, t.env.reader, 100, 0));
	tree_puts(&t, "proc/self/mountinfo",
	          "35 31 0:32 / " MOUNT " rw shared:9 - cgroup2 cgroup2 rw\n");
	assert_null(own_cgroup_find(t.env.root_fd, t.env.reader, 100, 0));
	tree_remove(&t);
}

RUN_TESTS(TEST(test_own_cgroup__is_not_shared),
          TEST(test_own_cgroup__is_nothing_where_nothing_can_be_read))
