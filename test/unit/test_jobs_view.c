/* SPDX-License-Identifier: MIT */
#include "view/jobs_view.h"

#include <time.h>

#include "check.h"
#include "model_kit.h"

static struct jobs_view four_jobs(bool unicode)
{
	struct jobs_view view = { .now_ns = KIT_STARTED_NS + 3600 * NS_PER_S, .unicode = unicode };
	struct job good = kit_good_job(), oom = kit_oom_job(), lost = kit_good_job();
	struct job running = { .id = "sh:1f\x1b[2J", .type = "sh:1f", .status = JOB_RUNNING };

	view.uid = running.uid = good.uid;
	running.started_ns = KIT_STARTED_NS;
	snprintf(lost.id, sizeof lost.id, "a-job-with-a-very-long-name-of-its-own-0001");
	lost.status = JOB_LOST;
	lost.took_ns = 0;
	lost.started_ns -= 86400 * NS_PER_S;
	lost.ended_ns = lost.started_ns + 5 * NS_PER_S;
	jobs_view_add(&view, &running);
	jobs_view_add(&view, &oom);
	jobs_view_add(&view, &good);
	jobs_view_add(&view, &lost);
	return view;
}

static void assert_view(struct style style, const char *golden)
{
	struct jobs_view view = four_jobs(style.unicode);
	struct buf out = { 0 };

	setenv("TZ", "UTC", 1);
	tzset();
	table_print(&view.table, CANVAS(&style, &out));
	assert_golden(golden, &out);
	assert_null(strstr(out.at, " \n"));
	buf_done(&out);
	table_done(&view.table);
}

static void test_jobs_view__shows_a_job_a_line(void **state)
{
	setenv("TZ", "UTC", 1);
	tzset();
	assert_view((struct style){ .width = SIZE_MAX }, "jobs-pipe.txt");
	assert_view((struct style){ .width = 100, .unicode = true }, "jobs-100.txt");
	assert_view((struct style){ .width = 40, .unicode = true }, "jobs-40.txt");
}

static void test_jobs_view__names_a_job_of_another_user_as_it_is_typed(void **state)
{
	struct user_names users = { 0 };
	struct jobs_view view = { .uid = 1000, .users = &users };
	struct job mine = { .id = "same", .uid = 1000 }, roots = { .id = "same" },
		   unknown = { .id = "same", .uid = 4000000 };
	struct buf out = { 0 };

	jobs_view_add(&view, &mine);
	jobs_view_add(&view, &roots);
	jobs_view_add(&view, &unknown);
	table_print(&view.table, CANVAS((&(struct style){ .width = SIZE_MAX }), &out));
	assert_non_null(strstr(out.at, "\nsame "));
	assert_non_null(strstr(out.at, "\nroot:same "));
	assert_non_null(strstr(out.at, "\n4000000:same "));
	buf_done(&out);
	table_done(&view.table);
	user_names_done(&users);
}

static void test_jobs_view__shortens_a_commit_as_git_does(void **state)
{
	struct jobs_view view = { .uid = 1000 };
	struct job job = { .id = "j", .uid = 1000 };
	struct buf out = { 0 };

	snprintf(job.tags, sizeof job.tags, "{\"git_commit\":\"%s\",\"data\":\"%s\"}",
	         "0123456789abcdef0123456789abcdef01234567",
	         "0123456789abcdef0123456789abcdef0123456z");
	jobs_view_add(&view, &job);
	table_print(&view.table, CANVAS((&(struct style){ .width = SIZE_MAX }), &out));
	assert_non_null(strstr(
		out.at, "git_commit=0123456789ab data=0123456789abcdef0123456789abcdef0123456z"));
	buf_done(&out);
	table_done(&view.table);
}

static void test_jobs_json__has_all_of_a_job(void **state)
{
	struct job job = kit_oom_job();
	struct buf out = { 0 };
	struct json j = { .out = &out };

	job.limit[JOB_LIMIT_CPU] = 1500;
	job.limit[JOB_LIMIT_TIME] = 90 * NS_PER_S;
	jobs_view_add_json(&j, &job);
	buf_putc(&out, '\n');
	assert_golden("job.json", &out);
	buf_done(&out);
}

RUN_TESTS(TEST(test_jobs_view__shows_a_job_a_line),
          TEST(test_jobs_view__names_a_job_of_another_user_as_it_is_typed),
          TEST(test_jobs_view__shortens_a_commit_as_git_does),
          TEST(test_jobs_json__has_all_of_a_job))
