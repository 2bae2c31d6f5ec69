/* SPDX-License-Identifier: MIT */
#include "job/parent_job.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "check.h"

#define WORDS(text) scan_mem(text, sizeof(text) - 1 + 1)

static void test_parent_job_is_run__finds_the_verb_behind_options(void **state)
{
	(void)state;
	assert_true(parent_job_is_run(WORDS("proctor\0run\0--\0make")));
	assert_true(parent_job_is_run(WORDS("/usr/bin/proctor\0--state-dir\0/x\0run\0-q\0make")));
	assert_true(parent_job_is_run(WORDS("proctor\0--state-dir=/x\0run\0make")));
	assert_false(parent_job_is_run(WORDS("proctor\0sheet\0--\0run")));
	assert_false(parent_job_is_run(WORDS("proctor\0sheet\0run")));
	assert_false(parent_job_is_run(WORDS("proctor\0--\0run")));
	assert_false(parent_job_is_run(WORDS("proctor")));
	assert_false(parent_job_is_run(scan_mem("proctor\0ru", 10)));
	assert_false(parent_job_is_run(scan_mem("", 0)));
}

/* A process of this user that is named as the recorder, but is none by its arguments. */
static void test_parent_job_recorder_user__believes_no_name_alone(void **state)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(process_reader_freep) struct process_reader *reader = process_reader_new(root_fd);
	pid_t child = fork();
	uid_t user = 4711, above = 4711;
	bool is_in_job;

	(void)state;
	if (child == 0) {
		prctl(PR_SET_NAME, "proctor");
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	is_in_job = parent_job_recorder_user(reader, getpid(),
	                                     &above); /* these tests may be a job */
	assert_int_equal(parent_job_recorder_user(reader, child, &user), is_in_job);
	assert_int_equal(user, above);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

RUN_TESTS(TEST(test_parent_job_is_run__finds_the_verb_behind_options),
          TEST(test_parent_job_recorder_user__believes_no_name_alone))
