/* SPDX-License-Identifier: MIT */
/* Environments and groups are files of a throw-away tree. */
#include "job/jobs.h"

#include <elf.h>

#include "check.h"
#include "model_kit.h"
#include "fake_machine.h"

#define ROOT_A ((struct proc_id){ 100, 500 })
#define ROOT_B ((struct proc_id){ 200, 500 })
#define UID 1000
#define OUTSIDER 300
#define SHELL 60 /* that outsiders were started by */

struct fixture {
	struct tree tree;
	struct jobs *jobs;
	struct sample s;
};

/* Its three users, and AT_SECURE. */
static void put_origin(struct fixture *fx, pid_t pid, const uint32_t uids[3], uint64_t is_secure)
{
	const uint64_t auxv[] = { AT_PAGESZ, 4096, AT_SECURE, is_secure, AT_NULL, 0 };
	char path[64], text[128];

	snprintf(path, sizeof path, "proc/%d/status", (int)pid);
	snprintf(text, sizeof text, "Name:\tx\nUid:\t%u\t%u\t%u\t%u\n", uids[0], uids[1], uids[2],
	         uids[1]);
	tree_puts(&fx->tree, path, text);
	snprintf(path, sizeof path, "proc/%d/auxv", (int)pid);
	tree_write(&fx->tree, path, (const char *)auxv, sizeof auxv);
}

static struct proc_sample *add(struct fixture *fx, pid_t pid, pid_t ppid, const char *command)
{
	struct proc_sample *p = kit_proc(&fx->s, pid, 500);

	p->ppid = ppid;
	p->uid = UID;
	p->command = sample_add_text(&fx->s, command, strlen(command));
	put_origin(fx, pid, (const uint32_t[]){ UID, UID, UID }, 0);
	return p;
}

struct claim {
	struct proc_id root;
	pid_t registrar;
	const char *cgroup, *workspace;
};

static struct watched_job *add_job(struct fixture *fx, const char *id, struct claim claim)
{
	struct job job = { .uid = UID, .root = claim.root, .registrar.pid = claim.registrar };
	struct watched_job *w;

	snprintf(job.id, sizeof job.id, "%s", id);
	w = jobs_add(fx->jobs, &job);
	adoption_claim(fx->jobs->adoption, &fx->jobs->roster, w, claim.cgroup, claim.workspace);
	members_add(&fx->jobs->members, &fx->jobs->roster, claim.root,
	            (struct job_ref){ .job = w->row->job.handle });
	return w;
}

/* An orchestrator (50) with a job (100), another job (200), and somebody else's child. */
static struct fixture fixture_new(void)
{
	struct fixture fx = { .tree = tree_new(), .s = kit_sample(0) };

	tree_puts(&fx.tree, "proc/self/x", "");
	fx.jobs = jobs_new(fx.tree.env.reader);
	fx.jobs->adoption = adoption_new(fx.tree.env.root_fd, fx.tree.env.reader);
	add(&fx, 50, 1, "orchestrate /data/a /data/b");
	add(&fx, SHELL, 1, "sh");
	add(&fx, 100, 50, "first of a");
	add(&fx, 200, 50, "first of b");
	return fx;
}

static void fixture_done(struct fixture *fx)
{
	jobs_free(fx->jobs);
	sample_done(&fx->s);
	tree_remove(&fx->tree);
}

static void put_environ(struct fixture *fx, pid_t pid, const char *bytes, size_t n)
{
	char path[64];

	snprintf(path, sizeof path, "proc/%d/environ", (int)pid);
	tree_write(&fx->tree, path, bytes, n);
}

#define ENVIRON(fx, pid, text) put_environ(fx, pid, text, sizeof(text))

static bool tick(struct fixture *fx)
{
	return adoption_tick(fx->jobs->adoption, &fx->s, &fx->jobs->roster, &fx->jobs->members);
}

static int32_t job_of(const struct fixture *fx, pid_t pid)
{
	return job_roster_find(&fx->jobs->roster, (struct proc_id){ pid, 500 }).job;
}

static void test_adoption__belong_to_the_job_in_their_environment(void **state)
{
	struct fixture fx = fixture_new();

	add_job(&fx, "a", (struct claim){ .root = ROOT_A });
	add_job(&fx, "b", (struct claim){ .root = ROOT_B });
	add(&fx, OUTSIDER, SHELL, "x");
	add(&fx, 301, OUTSIDER, "its child");
	add(&fx, 302, SHELL, "of no job");
	add(&fx, 303, SHELL, "of a job that is not here");
	add(&fx, 304, SHELL, "of another user")->uid = UID + 1;
	ENVIRON(&fx, OUTSIDER, "HOME=/x\0PROCTOR_JOB_ID=b\0");
	ENVIRON(&fx, 302, "HOME=/x\0");
	ENVIRON(&fx, 303, "PROCTOR_JOB_ID=c\0");
	ENVIRON(&fx, 304, "PROCTOR_JOB_ID=b\0");
	ENVIRON(&fx, 50, "PROCTOR_JOB_ID=b\0"); /* above its first process */
	assert_true(tick(&fx));
	assert_int_equal(job_of(&fx, OUTSIDER), 1);
	assert_int_equal(job_of(&fx, 301), 1);
	assert_int_equal(job_of(&fx, 302), -1);
	assert_int_equal(job_of(&fx, 303), -1);
	assert_int_equal(job_of(&fx, 304), -1);
	assert_int_equal(job_of(&fx, 50), -1);
	assert_false(tick(&fx));
	add_job(&fx, "c", (struct claim){ .root = { 400, 500 } });
	assert_true(tick(&fx)); /* what was read before still counts */
	assert_int_equal(job_of(&fx, 303), 2);
	fixture_done(&fx);
}

static void test_adoption__are_read_once_for_each_program(void **state)
{
	struct fixture fx = fixture_new();
	struct event *exec;

	add_job(&fx, "a", (struct claim){ .root = ROOT_A });
	add(&fx, OUTSIDER, SHELL, "x");
	ENVIRON(&fx, OUTSIDER, "HOME=/x\0");
	assert_false(tick(&fx));
	ENVIRON(&fx, OUTSIDER, "PROCTOR_JOB_ID=a\0");
	assert_false(tick(&fx));
	exec = sample_add_event(&fx.s, EVENT_EXEC);
	exec->id = (struct proc_id){ OUTSIDER, 500 };
	assert_true(tick(&fx));
	assert_int_equal(job_of(&fx, OUTSIDER), 0);
	fixture_done(&fx);
}

static void test_adoption__read_few_environments_at_a_tick(void **state)
{
	struct fixture fx = fixture_new();
	unsigned ticks = 1;

	add_job(&fx, "a", (struct claim){ .root = ROOT_A });
	for (pid_t pid = 1000; pid < 1200; pid++)
		add(&fx, pid, SHELL, "x");
	ENVIRON(&fx, 1199, "PROCTOR_JOB_ID=a\0");
	while (!tick(&fx))
		ticks++;
	assert_int_equal(ticks, 5);
	assert_int_equal(job_of(&fx, 1199), 0);
	fixture_done(&fx);
}

static void test_adoption__waits_for_a_job_that_adopts(void **state)
{
	struct fixture fx = fixture_new();

	add(&fx, OUTSIDER, SHELL, "x");
	ENVIRON(&fx, OUTSIDER, "PROCTOR_JOB_ID=a\0");
	assert_false(tick(&fx));
	add_job(&fx, "a", (struct claim){ .root = ROOT_A });
	fx.jobs->roster.rows.at[0]->job.has_recorder = true;
	assert_false(tick(&fx));
	fx.jobs->roster.rows.at[0]->job.has_recorder = false;
	fx.jobs->roster.rows.at[0]->job.status = JOB_COMPLETED;
	assert_false(tick(&fx));
	fixture_done(&fx);
}

static void test_adoption__may_have_a_long_environment(void **state)
{
	const struct {
		size_t before; /* bytes of other variables */
		bool is_found;
	} rows[] = { { 3840 - 12, true },
		     { 4096 - 5, true },
		     { 4096, true },
		     { 20000, true },
		     { 90000, false } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture fx = fixture_new();
		static char bytes[100000];

		memset(bytes, 'v', rows[i].before);
		bytes[rows[i].before - 1] = '\0';
		memcpy(bytes + rows[i].before, "PROCTOR_JOB_ID=a", 17);
		add_job(&fx, "a", (struct claim){ .root = ROOT_A });
		add(&fx, OUTSIDER, SHELL, "x");
		put_environ(&fx, OUTSIDER, bytes, rows[i].before + 17);
		assert_int_equal(tick(&fx), rows[i].is_found);
		fixture_done(&fx);
	}
}

static void test_adoption__belong_to_the_job_whose_workspace_they_name(void **state)
{
	struct fixture fx = fixture_new();

	add_job(&fx, "a", (struct claim){ .root = ROOT_A, .workspace = "/data/a" });
	add_job(&fx, "b",
	        (struct claim){ .root = ROOT_B, .workspace = "/data/a/b", .registrar = 305 });
	add(&fx, OUTSIDER, SHELL, "train --out=/data/a/x");
	add(&fx, 301, SHELL, "train /data/a/b");
	add(&fx, 302, SHELL, "train /data/ab");
	add(&fx, 303, SHELL, "train /data/a")->uid = UID + 1;
	add(&fx, 304, SHELL, "train /data/a/b");
	add(&fx, 305, SHELL, "submit /data/a/b"); /* registered it */
	ENVIRON(&fx, 304, "PROCTOR_JOB_ID=a\0");
	assert_true(tick(&fx));
	assert_int_equal(job_of(&fx, OUTSIDER), 0);
	assert_int_equal(job_of(&fx, 301), 1);
	assert_int_equal(job_of(&fx, 302), -1);
	assert_int_equal(job_of(&fx, 303), -1);
	assert_int_equal(job_of(&fx, 304), 0); /* what it claims itself goes first */
	assert_int_equal(job_of(&fx, 305), 0);
	assert_int_equal(job_of(&fx, 50), -1);
	fixture_done(&fx);
}

static void test_adoption__belong_to_the_job_whose_group_they_are_in(void **state)
{
	struct fixture fx = fixture_new();

	tree_puts(&fx.tree, "cg/a/cgroup.procs", "300\n304\n77777\n");
	tree_puts(&fx.tree, "cg/a/below/cgroup.procs", "301\n");
	add_job(&fx, "a", (struct claim){ .root = ROOT_A, .cgroup = "cg/a" });
	add_job(&fx, "b", (struct claim){ .root = ROOT_B });
	add(&fx, OUTSIDER, SHELL, "x");
	add(&fx, 301, SHELL, "below");
	add(&fx, 302, OUTSIDER, "child that moved out");
	add(&fx, 303, SHELL, "elsewhere");
	add(&fx, 304, SHELL, "another user's")->uid = 0;
	ENVIRON(&fx, OUTSIDER, "PROCTOR_JOB_ID=b\0");
	ENVIRON(&fx, 302, "PROCTOR_JOB_ID=b\0");
	assert_true(tick(&fx));
	assert_int_equal(job_of(&fx, OUTSIDER), 0);
	assert_int_equal(job_of(&fx, 301), 0);
	assert_int_equal(job_of(&fx, 302), 0);
	assert_int_equal(job_of(&fx, 303), -1);
	assert_int_equal(job_of(&fx, 304), -1);
	fixture_done(&fx);
}

static void test_adoption__of_a_group_that_two_jobs_have_are_nobodys(void **state)
{
	struct fixture fx = fixture_new();

	tree_puts(&fx.tree, "cg/a/cgroup.procs", "300\n");
	add_job(&fx, "a", (struct claim){ .root = ROOT_A, .cgroup = "cg/a" });
	add_job(&fx, "b", (struct claim){ .root = ROOT_B, .cgroup = "cg/a" });
	add(&fx, OUTSIDER, SHELL, "x");
	assert_false(tick(&fx));
	fixture_done(&fx);
}

static void test_adoption__forgets_the_claims_of_a_job_that_is_removed(void **state)
{
	struct fixture fx = fixture_new();

	add_job(&fx, "a", (struct claim){ .root = ROOT_A, .workspace = "/data/a" });
	add_job(&fx, "b", (struct claim){ .root = ROOT_B, .workspace = "/data/b" });
	jobs_remove(fx.jobs, 0);
	add(&fx, OUTSIDER, SHELL, "x /data/a");
	add(&fx, 301, SHELL, "x /data/b");
	ENVIRON(&fx, 302, "PROCTOR_JOB_ID=b\0");
	add(&fx, 302, SHELL, "x");
	assert_true(tick(&fx));
	assert_int_equal(job_of(&fx, OUTSIDER), -1);
	assert_int_equal(job_of(&fx, 301), 1);
	assert_int_equal(job_of(&fx, 302), 1);
	fixture_done(&fx);
}

static void test_adoption__take_nobodys_word_but_the_jobs_users(void **state)
{
	struct fixture fx = fixture_new();
	struct event *birth;

	add_job(&fx, "a", (struct claim){ .root = ROOT_A, .workspace = "/data/a" });
	for (pid_t pid = 300; pid < 310; pid++) {
		add(&fx, pid, SHELL, pid % 2 ? "x /data/a" : "x");
		put_environ(&fx, pid, pid % 2 ? "" : "PROCTOR_JOB_ID=a", pid % 2 ? 0 : 17);
	}
	put_origin(&fx, 300, (const uint32_t[]){ UID + 1, UID, UID }, 1); /* set-user-id */
	put_origin(&fx, 301, (const uint32_t[]){ UID, UID, UID + 1 }, 0);
	put_origin(&fx, 302, (const uint32_t[]){ UID, UID, UID }, 1); /* set-group-id */
	tree_puts(&fx.tree, "proc/303/auxv", "");
	add(&fx, 310, 1, "sudo")->uid = UID;
	put_origin(&fx, 310, (const uint32_t[]){ UID, UID, UID }, 1);
	add(&fx, 311, 1, "stranger")->uid = UID + 1;
	put_origin(&fx, 311, (const uint32_t[]){ UID + 1, UID + 1, UID + 1 }, 0);
	sample_find_proc(&fx.s, 304)->ppid = 310;
	sample_find_proc(&fx.s, 305)->ppid = 311;
	sample_find_proc(&fx.s, 306)->ppid = 1;   /* an orphan: who started it is not known */
	sample_find_proc(&fx.s, 307)->ppid = 100; /* a member of the job */
	birth = sample_add_event(&fx.s, EVENT_SPAWN);
	birth->id = (struct proc_id){ 308, 500 };
	birth->ppid = 311; /* who handed it over */
	adoption_learn(fx.jobs->adoption, fx.s.events.at, fx.s.events.len);
	assert_true(tick(&fx));
	for (pid_t pid = 300; pid < 307; pid++)
		assert_int_equal(job_of(&fx, pid), -1);
	assert_int_equal(job_of(&fx, 307), 0);
	assert_int_equal(job_of(&fx, 308), -1);
	assert_int_equal(job_of(&fx, 309), 0);
	fixture_done(&fx);
}

/* Their environments are known when a workspace comes that they all name. */
static void test_adoption__asks_whose_word_it_is_of_few_processes_at_a_tick(void **state)
{
	struct fixture fx = fixture_new();
	unsigned ticks = 0;
	size_t adopted = 0;

	add_job(&fx, "a", (struct claim){ .root = ROOT_A });
	for (pid_t pid = 1000; pid < 1060; pid++)
		add(&fx, pid, SHELL, "x /data/b/c/d");
	for (int i = 0; i < 3; i++)
		assert_false(tick(&fx));
	add_job(&fx, "b", (struct claim){ .root = ROOT_B, .workspace = "/data/b" });
	for (; adopted < 60 && ticks < 10; ticks++) {
		size_t before = adopted;

		assert_true(tick(&fx));
		adopted = 0;
		for (pid_t pid = 1000; pid < 1060; pid++)
			adopted += job_of(&fx, pid) == 1;
		assert_in_range(adopted - before, 1, 25);
	}
	assert_int_equal(ticks, 3);
	fixture_done(&fx);
}

RUN_TESTS(TEST(test_adoption__belong_to_the_job_in_their_environment),
          TEST(test_adoption__take_nobodys_word_but_the_jobs_users),
          TEST(test_adoption__are_read_once_for_each_program),
          TEST(test_adoption__read_few_environments_at_a_tick),
          TEST(test_adoption__asks_whose_word_it_is_of_few_processes_at_a_tick),
          TEST(test_adoption__waits_for_a_job_that_adopts),
          TEST(test_adoption__may_have_a_long_environment),
          TEST(test_adoption__belong_to_the_job_whose_workspace_they_name),
          TEST(test_adoption__belong_to_the_job_whose_group_they_are_in),
          TEST(test_adoption__of_a_group_that_two_jobs_have_are_nobodys),
          TEST(test_adoption__forgets_the_claims_of_a_job_that_is_removed))
