/* SPDX-License-Identifier: MIT */
#include "model/job_search.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static const struct job_offer jobs[] = {
	/* newest first */
	{ .id = "train.py-7f3a91c2", .type = "train.py", .uid = 1000, .started_ns = 90 },
	{ .id = "nightly-train", .type = "sh", .uid = 1000, .started_ns = 80 },
	{ .id = "train.py-0b1c44de", .type = "train.py", .uid = 1000, .started_ns = 70 },
	{ .id = "make-1", .type = "make", .uid = 1000, .started_ns = 60 },
	{ .id = "make", .type = "odd", .uid = 1000, .started_ns = 50 },
	{ .id = "cmake-2", .type = "cmake", .uid = 1001, .started_ns = 40 },
	{ .id = "mark-1", .type = "mark", .uid = 1001, .started_ns = 30 },
	{ .id = "same", .type = "sh", .uid = 1000, .started_ns = 20 },
	{ .id = "same", .type = "sh", .uid = 1001, .started_ns = 10 },
	{ .id = "x~1", .type = "sh", .uid = 1000, .started_ns = 5 },
	/* as old stores may have them */
	{ .id = "1000:make", .type = "fake", .uid = 1001, .started_ns = 4 },
	{ .id = "1000:forged", .type = "1000:forged-type", .uid = 1001, .started_ns = 3 },
};

static struct job_search searched(const char *typed, uint32_t uid)
{
	struct job_search s;

	if (job_search_init(&s, typed, uid))
		for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
			job_search_offer(&s, &jobs[i]);
	return s;
}

static void assert_means(const char *typed, uint32_t uid, const char *id)
{
	struct job_search s = searched(typed, uid);
	const struct job_matches *several;
	const struct job_offer *meant = job_search_end(&s, &several);

	if (!meant)
		fail_msg("'%s' means no single job", typed);
	else if (strcmp(meant->id, id) != 0)
		fail_msg("'%s' means %s, not %s", typed, meant->id, id);
}

static void assert_several(const char *typed, uint64_t n, const char *first)
{
	struct job_search s = searched(typed, 0);
	const struct job_matches *several;

	assert_null(job_search_end(&s, &several));
	assert_non_null(several);
	assert_int_equal(several->n, n);
	assert_string_equal(several->shown[0].id, first);
}

static void assert_none(const char *typed)
{
	struct job_search s = searched(typed, 0);
	const struct job_matches *several;

	assert_null(job_search_end(&s, &several));
	assert_null(several);
}

static void test_job_search__prefers_an_id_in_full(void **state)
{
	assert_means("make", 1000, "make"); /* also a type */
	assert_means("x~1", 1000, "x~1");
	assert_means("train.py-0b1c44de", 0, "train.py-0b1c44de");
}

static void test_job_search__takes_any_part_of_an_id_that_is_unique(void **state)
{
	assert_means("7f3a", 1000, "train.py-7f3a91c2");
	assert_means("44de", 1000, "train.py-0b1c44de");
	assert_means("nightly", 1000, "nightly-train");
	assert_means("ke-2", 1000, "cmake-2");
}

static void test_job_search__prefers_the_beginning_of_an_id_to_a_part(void **state)
{
	assert_means("make-", 1000, "make-1"); /* cmake-2 has it too */
}

static void test_job_search__takes_a_type_as_its_latest_run(void **state)
{
	assert_means("train.py", 1000, "train.py-7f3a91c2");
	assert_means("train.py~1", 1000, "train.py-0b1c44de");
	assert_none("train.py~2");
	assert_none("train.py~");
}

static void test_job_search__takes_the_beginning_of_one_type_as_its_latest_run(void **state)
{
	assert_means("train", 1000, "train.py-7f3a91c2"); /* nightly-train has it too */
	assert_means("tr~1", 1000, "train.py-0b1c44de");
	assert_several("ma", 2, "make-1"); /* two types: make, mark */
}

static void test_job_search__takes_both_ends_of_a_shortened_id(void **state)
{
	assert_means("train.p…a91c2", 1000, "train.py-7f3a91c2");
	assert_means("train.p...c44de", 1000, "train.py-0b1c44de");
	assert_none("train.py-7f3a…7f3a91c2"); /* the ends do not overlap */
	assert_several("train.p…", 2, "train.py-7f3a91c2");
}

static void test_job_search__lists_several_newest_first(void **state)
{
	assert_several("-1", 2, "make-1");
	assert_several("ai", 3, "train.py-7f3a91c2");
}

static void test_job_search__takes_the_users_own_id_first(void **state)
{
	struct job_search s = searched("same", 1001);
	const struct job_matches *several;

	assert_int_equal(job_search_end(&s, &several)->uid, 1001);
	s = searched("same", 0);
	assert_null(job_search_end(&s, &several));
	assert_int_equal(several->n, 2);
}

static void test_job_search__takes_jobs_of_one_user(void **state)
{
	struct job_search s = searched("1001:same", 0);
	const struct job_matches *several;

	assert_int_equal(job_search_end(&s, &several)->uid, 1001);
	assert_means("1001:cm", 0, "cmake-2");
	assert_means("1000:train~1", 0, "train.py-0b1c44de");
	assert_none("1001:train");
	assert_none("1001:");
	assert_means("1000:make", 0, "make"); /* not what 1001 calls so */
	assert_none("1000:forged");
	assert_none("1000:forged-type");
	assert_means("1000:forged", 1001, "1000:forged");
}

static void test_job_search__counts_back_from_the_last(void **state)
{
	struct job_search s;
	struct job_search_last last;

	assert_true(job_search_init(&s, "last~3", 0));
	assert_true(job_search_is_last(&s, &last));
	assert_int_equal(last.count, 4);
	assert_false(last.of_one_user);
	assert_true(job_search_init(&s, "1001:last", 0));
	assert_true(job_search_is_last(&s, &last));
	assert_true(last.of_one_user && last.uid == 1001);
	assert_means("last", 0, "train.py-7f3a91c2");
	assert_means("last~1", 0, "nightly-train");
	assert_means("1001:last", 0, "cmake-2");
	assert_true(job_search_init(&s, "lastly", 0));
	assert_false(job_search_is_last(&s, &last));
}

static void assert_part(const char *typed, const char *part)
{
	struct job_search s;
	struct scan is;

	assert_true(job_search_init(&s, typed, 0));
	is = job_search_part(&s);
	assert_true(scan_eq(&is, part));
}

static void test_job_search__knows_a_part_of_every_job_that_it_can_find(void **state)
{
	struct job_search s;

	assert_part("train", "train");
	assert_part("train~12", "train");
	assert_part("0:train~1", "train");
	assert_part("nosuchuser:x", "nosuchuser:x");
	assert_part("tr…a91c2", "a91c2");
	assert_false(job_search_init(&s, "", 0));
	assert_false(job_search_init(&s, "~1", 0));
}

static void test_job_search__shows_the_first_and_counts_the_rest(void **state)
{
	const struct job_matches *several;
	struct job_offer job = { .uid = 1 };
	struct job_search s;

	assert_true(job_search_init(&s, "j", 1));
	for (int i = 0; i < 25; i++) {
		snprintf(job.id, sizeof job.id, "j%d", i);
		job_search_offer(&s, &job);
	}
	assert_null(job_search_end(&s, &several));
	assert_int_equal(several->n, 25);
	assert_string_equal(several->shown[JOB_SEARCH_SHOWN - 1].id, "j9");
}

RUN_TESTS(TEST(test_job_search__prefers_an_id_in_full),
          TEST(test_job_search__takes_any_part_of_an_id_that_is_unique),
          TEST(test_job_search__prefers_the_beginning_of_an_id_to_a_part),
          TEST(test_job_search__takes_a_type_as_its_latest_run),
          TEST(test_job_search__takes_the_beginning_of_one_type_as_its_latest_run),
          TEST(test_job_search__takes_both_ends_of_a_shortened_id),
          TEST(test_job_search__lists_several_newest_first),
          TEST(test_job_search__takes_the_users_own_id_first),
          TEST(test_job_search__takes_jobs_of_one_user),
          TEST(test_job_search__counts_back_from_the_last),
          TEST(test_job_search__knows_a_part_of_every_job_that_it_can_find),
          TEST(test_job_search__shows_the_first_and_counts_the_rest))
