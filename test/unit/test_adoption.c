/* SPDX-License-Identifier: MIT */
/* Environments and groups are files of a throw-away tree. */
#include "job/jobs.h"

#include "check.h"
#include "model_kit.h"
#include "fake_machine.h"

#define ROOT_A ((struct proc_id){ 100, 500 })
#define ROOT_B ((struct proc_id){ 200, 500 })
#define UID 1000
#define STRANGER 300

struct scene {
	struct tree tree;
	struct jobs *jobs;
	struct sample s;
};

static struct proc_sample *add(struct scene *sc, pid_t pid, pid_t ppid, const char *command)
{
	struct proc_sample *p = kit_proc(&sc->s, pid, 500);

	p->ppid = ppid;
	p->uid = UID;
	p->command = sample_add_text(&sc->s, command, strlen(command));
	return p;
}

struct claim {
	struct proc_id root;
	pid_t registrar;
	const char *cgroup, *workspace;
};

static struct watched_job *add_job(struct scene *sc, const char *id, struct claim claim)
{
	struct job job = { .uid = UID, .root = claim.root, .registrar.pid = claim.registrar };
	struct watched_job *w;

	snprintf(job.id, sizeof job.id, "%s", id);
	w = jobs_add(sc->jobs, &job);
	adoption_claim(sc->jobs->adoption, &sc->jobs->roster, w, claim.cgroup, claim.workspace);
	members_add(&sc->jobs->members, &sc->jobs->roster, claim.root,
	            (struct job_ref){ .job = w->row->job.handle });
	return w;
}

/* An orchestrator (50) with a job (100), another job (200), and somebody else's child. */
static struct scene scene_new(void)
{
	struct scene sc = { .tree = tree_new(), .s = kit_sample(0) };

	tree_puts(&sc.tree, "proc/self/x", "");
	sc.jobs = jobs_new(sc.tree.env.reader);
	sc.jobs->adoption = adoption_new(sc.tree.env.root_fd, sc.tree.env.reader);
	add(&sc, 50, 1, "orchestrate /data/a /data/b");
	add(&sc, 100, 50, "first of a");
	add(&sc, 200, 50, "first of b");
	return sc;
}

static void scene_done(struct scene *sc)
{
	jobs_free(sc->jobs);
	sample_done(&sc->s);
	tree_remove(&sc->tree);
}

static void put_environ(struct scene *sc, pid_t pid, const char *bytes, size_t n)
{
	char path[64];

	snprintf(path, sizeof path, "proc/%d/environ", (int)pid);
	tree_write(&sc->tree, path, bytes, n);
}

#define ENVIRON(sc, pid, text) put_environ(sc, pid, text, sizeof(text))

static bool look(struct scene *sc)
{
	return adoption_tick(sc->jobs->adoption, &sc->s, &sc->jobs->roster, &sc->jobs->members);
}

static int32_t job_of(const struct scene *sc, pid_t pid)
{
	return job_roster_find(&sc->jobs->roster, (struct proc_id){ pid, 500 }).job;
}

static void test_adoption__belong_to_the_job_in_their_environment(void **state)
{
	struct scene sc = scene_new();

	add_job(&sc, "a", (struct claim){ .root = ROOT_A });
	add_job(&sc, "b", (struct claim){ .root = ROOT_B });
	add(&sc, STRANGER, 1, "x");
	add(&sc, 301, STRANGER, "its child");
	add(&sc, 302, 1, "of no job");
	add(&sc, 303, 1, "of a job that is not here");
	add(&sc, 304, 1, "of another user")->uid = UID + 1;
	ENVIRON(&sc, STRANGER, "HOME=/x\0PROCTOR_JOB_ID=b\0");
	ENVIRON(&sc, 302, "HOME=/x\0");
	ENVIRON(&sc, 303, "PROCTOR_JOB_ID=c\0");
	ENVIRON(&sc, 304, "PROCTOR_JOB_ID=b\0");
	ENVIRON(&sc, 50, "PROCTOR_JOB_ID=b\0"); /* above its first process */
	assert_true(look(&sc));
	assert_int_equal(job_of(&sc, STRANGER), 1);
	assert_int_equal(job_of(&sc, 301), 1);
	assert_int_equal(job_of(&sc, 302), -1);
	assert_int_equal(job_of(&sc, 303), -1);
	assert_int_equal(job_of(&sc, 304), -1);
	assert_int_equal(job_of(&sc, 50), -1);
	assert_false(look(&sc));
	add_job(&sc, "c", (struct claim){ .root = { 400, 500 } });
	assert_true(look(&sc)); /* what was read before still counts */
	assert_int_equal(job_of(&sc, 303), 2);
	scene_done(&sc);
}

static void test_adoption__are_read_once_for_each_program(void **state)
{
	struct scene sc = scene_new();
	struct event *exec;

	add_job(&sc, "a", (struct claim){ .root = ROOT_A });
	add(&sc, STRANGER, 1, "x");
	ENVIRON(&sc, STRANGER, "HOME=/x\0");
	assert_false(look(&sc));
	ENVIRON(&sc, STRANGER, "PROCTOR_JOB_ID=a\0");
	assert_false(look(&sc));
	exec = sample_add_event(&sc.s, EVENT_EXEC);
	exec->id = (struct proc_id){ STRANGER, 500 };
	assert_true(look(&sc));
	assert_int_equal(job_of(&sc, STRANGER), 0);
	scene_done(&sc);
}

static void test_adoption__read_few_environments_at_a_tick(void **state)
{
	struct scene sc = scene_new();
	unsigned looks = 1;

	add_job(&sc, "a", (struct claim){ .root = ROOT_A });
	for (pid_t pid = 1000; pid < 1200; pid++)
		add(&sc, pid, 1, "x");
	ENVIRON(&sc, 1199, "PROCTOR_JOB_ID=a\0");
	while (!look(&sc))
		looks++;
	assert_int_equal(looks, 5);
	assert_int_equal(job_of(&sc, 1199), 0);
	scene_done(&sc);
}

static void test_adoption__waits_for_a_job_that_adopts(void **state)
{
	struct scene sc = scene_new();

	add(&sc, STRANGER, 1, "x");
	ENVIRON(&sc, STRANGER, "PROCTOR_JOB_ID=a\0");
	assert_false(look(&sc));
	add_job(&sc, "a", (struct claim){ .root = ROOT_A });
	sc.jobs->roster.rows.at[0]->job.has_recorder = true;
	assert_false(look(&sc));
	sc.jobs->roster.rows.at[0]->job.has_recorder = false;
	sc.jobs->roster.rows.at[0]->job.status = JOB_COMPLETED;
	assert_false(look(&sc));
	scene_done(&sc);
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
		struct scene sc = scene_new();
		static char bytes[100000];

		memset(bytes, 'v', rows[i].before);
		bytes[rows[i].before - 1] = '\0';
		memcpy(bytes + rows[i].before, "PROCTOR_JOB_ID=a", 17);
		add_job(&sc, "a", (struct claim){ .root = ROOT_A });
		add(&sc, STRANGER, 1, "x");
		put_environ(&sc, STRANGER, bytes, rows[i].before + 17);
		assert_int_equal(look(&sc), rows[i].is_found);
		scene_done(&sc);
	}
}

static void test_adoption__belong_to_the_job_whose_workspace_they_name(void **state)
{
	struct scene sc = scene_new();

	add_job(&sc, "a", (struct claim){ .root = ROOT_A, .workspace = "/data/a" });
	add_job(&sc, "b",
	        (struct claim){ .root = ROOT_B, .workspace = "/data/a/b", .registrar = 305 });
	add(&sc, STRANGER, 1, "train --out=/data/a/x");
	add(&sc, 301, 1, "train /data/a/b");
	add(&sc, 302, 1, "train /data/ab");
	add(&sc, 303, 1, "train /data/a")->uid = UID + 1;
	add(&sc, 304, 1, "train /data/a/b");
	add(&sc, 305, 1, "submit /data/a/b"); /* registered it */
	ENVIRON(&sc, 304, "PROCTOR_JOB_ID=a\0");
	assert_true(look(&sc));
	assert_int_equal(job_of(&sc, STRANGER), 0);
	assert_int_equal(job_of(&sc, 301), 1);
	assert_int_equal(job_of(&sc, 302), -1);
	assert_int_equal(job_of(&sc, 303), -1);
	assert_int_equal(job_of(&sc, 304), 0); /* what it says itself goes first */
	assert_int_equal(job_of(&sc, 305), 0);
	assert_int_equal(job_of(&sc, 50), -1);
	scene_done(&sc);
}

static void test_adoption__belong_to_the_job_whose_group_they_are_in(void **state)
{
	struct scene sc = scene_new();

	tree_puts(&sc.tree, "cg/a/cgroup.procs", "300\n304\n77777\n");
	tree_puts(&sc.tree, "cg/a/below/cgroup.procs", "301\n");
	add_job(&sc, "a", (struct claim){ .root = ROOT_A, .cgroup = "cg/a" });
	add_job(&sc, "b", (struct claim){ .root = ROOT_B });
	add(&sc, STRANGER, 1, "x");
	add(&sc, 301, 1, "below");
	add(&sc, 302, STRANGER, "child that moved out");
	add(&sc, 303, 1, "elsewhere");
	add(&sc, 304, 1, "another user's")->uid = 0;
	ENVIRON(&sc, STRANGER, "PROCTOR_JOB_ID=b\0");
	ENVIRON(&sc, 302, "PROCTOR_JOB_ID=b\0");
	assert_true(look(&sc));
	assert_int_equal(job_of(&sc, STRANGER), 0);
	assert_int_equal(job_of(&sc, 301), 0);
	assert_int_equal(job_of(&sc, 302), 0);
	assert_int_equal(job_of(&sc, 303), -1);
	assert_int_equal(job_of(&sc, 304), -1);
	scene_done(&sc);
}

static void test_adoption__of_a_group_that_two_jobs_have_are_nobodys(void **state)
{
	struct scene sc = scene_new();

	tree_puts(&sc.tree, "cg/a/cgroup.procs", "300\n");
	add_job(&sc, "a", (struct claim){ .root = ROOT_A, .cgroup = "cg/a" });
	add_job(&sc, "b", (struct claim){ .root = ROOT_B, .cgroup = "cg/a" });
	add(&sc, STRANGER, 1, "x");
	assert_false(look(&sc));
	scene_done(&sc);
}

static void test_adoption__forgets_the_claims_of_a_job_that_is_removed(void **state)
{
	struct scene sc = scene_new();

	add_job(&sc, "a", (struct claim){ .root = ROOT_A, .workspace = "/data/a" });
	add_job(&sc, "b", (struct claim){ .root = ROOT_B, .workspace = "/data/b" });
	jobs_remove(sc.jobs, 0);
	add(&sc, STRANGER, 1, "x /data/a");
	add(&sc, 301, 1, "x /data/b");
	ENVIRON(&sc, 302, "PROCTOR_JOB_ID=b\0");
	add(&sc, 302, 1, "x");
	assert_true(look(&sc));
	assert_int_equal(job_of(&sc, STRANGER), -1);
	assert_int_equal(job_of(&sc, 301), 1);
	assert_int_equal(job_of(&sc, 302), 1);
	scene_done(&sc);
}

RUN_TESTS(TEST(test_adoption__belong_to_the_job_in_their_environment),
          TEST(test_adoption__are_read_once_for_each_program),
          TEST(test_adoption__read_few_environments_at_a_tick),
          TEST(test_adoption__waits_for_a_job_that_adopts),
          TEST(test_adoption__may_have_a_long_environment),
          TEST(test_adoption__belong_to_the_job_whose_workspace_they_name),
          TEST(test_adoption__belong_to_the_job_whose_group_they_are_in),
          TEST(test_adoption__of_a_group_that_two_jobs_have_are_nobodys),
          TEST(test_adoption__forgets_the_claims_of_a_job_that_is_removed))
