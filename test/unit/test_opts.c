/* SPDX-License-Identifier: MIT */
#include "base/opts.h"

#include <errno.h>

#include "base/clock.h"
#include "check.h"

struct given {
	bool json, quiet;
	const char *out;
	uint64_t interval_ns, limit, size, milli, depth;
	struct opt_list list;
	bool ended; /* by "--" */
};

/* Parses these words (NULL ends them) into a fresh struct. */
static int parse(struct given *g, struct err *err, const char *const *words)
{
	struct opt opts[] = {
		{ "json", 'j', OPT_FLAG, &g->json, NULL, "as JSON" },
		{ "quiet", 'q', OPT_FLAG, &g->quiet, NULL, "print nothing" },
		{ "out", 'o', OPT_TEXT, &g->out, "FILE", "where to" },
		{ "interval", 'i', OPT_DURATION, &g->interval_ns, "S", "how often" },
		{ "limit", 0, OPT_U64, &g->limit, "N", "how many" },
		{ "depth", 0, OPT_U64_MAYBE, &g->depth, NULL, "how deep, if that matters" },
		{ "size", 0, OPT_SIZE, &g->size, "SIZE", "how large" },
		{ "milli", 0, OPT_MILLI, &g->milli, "N", "how much" },
		{ "tag", 't', OPT_LIST, &g->list, "K=V", "more than once" },
		{ 0 },
	};
	char program[] = "proctor", *argv[16] = { program };
	int argc = 1;

	*g = (struct given){ 0 };
	for (; *words; words++) {
		union {
			const char *in;
			char *out;
		} word = { .in = *words };

		argv[argc++] = word.out;
	}
	return opts_parse(opts, argc, argv, &g->ended, err);
}

#define PARSE(g, err, ...) parse((g), (err), (const char *const[]){ __VA_ARGS__, NULL })

static void test_opts__value_that_may_be_missing_follows_an_equals_sign_only(void **state)
{
	struct given g;
	struct err err;

	(void)state;
	assert_int_equal(PARSE(&g, &err, "--depth", "7"), 2);
	assert_true(g.depth == OPT_NO_VALUE);
	assert_int_equal(PARSE(&g, &err, "--depth=7", "rest"), 2);
	assert_int_equal(g.depth, 7);
	assert_int_equal(PARSE(&g, &err, "--depth=x"), -EINVAL);
	assert_string_equal(err.msg, "--depth 'x': not a whole number");
}

static void test_opts__accepts_long_and_short_forms(void **state)
{
	struct given g;
	struct err err;

	(void)state;
	assert_int_equal(
		PARSE(&g, &err, "--json", "--out", "x", "--interval=0.5", "--limit", "7", "rest"),
		7);
	assert_true(g.json);
	assert_string_equal(g.out, "x");
	assert_int_equal(g.interval_ns, NS_PER_S / 2);
	assert_int_equal(g.limit, 7);
	assert_int_equal(PARSE(&g, &err, "-j", "-ofile", "-i", "2s"), 5);
	assert_true(g.json);
	assert_string_equal(g.out, "file");
	assert_int_equal(g.interval_ns, 2 * NS_PER_S);
}

static void test_opts__accepts_joined_letters(void **state)
{
	struct given g;
	struct err err;

	(void)state;
	assert_int_equal(PARSE(&g, &err, "-qj", "rest"), 2);
	assert_true(g.quiet && g.json);
	assert_int_equal(PARSE(&g, &err, "-qi5", "rest"), 2);
	assert_true(g.quiet && g.interval_ns == 5 * NS_PER_S);
	assert_int_equal(PARSE(&g, &err, "-jqo", "file", "rest"), 3);
	assert_true(g.quiet && g.json);
	assert_string_equal(g.out, "file");
	assert_int_equal(PARSE(&g, &err, "-ojq"), 2); /* the rest is the value */
	assert_string_equal(g.out, "jq");
	assert_false(g.quiet || g.json);
}

static void test_opts__stops_at_the_command_and_at_two_dashes(void **state)
{
	struct given g;
	struct err err;

	(void)state;
	assert_int_equal(PARSE(&g, &err, "ls", "--json"), 1);
	assert_false(g.json);
	assert_int_equal(PARSE(&g, &err, "--", "--json"), 2);
	assert_false(g.json);
	assert_int_equal(PARSE(&g, &err, "-"), 1);
	assert_int_equal(PARSE(&g, &err, "--out="), 2);
	assert_string_equal(g.out, "");
	assert_int_equal(PARSE(&g, &err, "--out", "--json"),
	                 3); /* a value may resemble an option */
	assert_string_equal(g.out, "--json");
}

static void test_opts__takes_two_dashes_as_a_value_where_one_is_due(void **state)
{
	struct given g;
	struct err err;

	(void)state;
	assert_int_equal(PARSE(&g, &err, "--out", "--", "-j"), 4);
	assert_string_equal(g.out, "--");
	assert_true(g.json);
	assert_false(g.ended);
	assert_int_equal(PARSE(&g, &err, "-o", "--"), 3);
	assert_false(g.ended);
	assert_int_equal(PARSE(&g, &err, "-o", "--", "--", "-j"), 4);
	assert_true(g.ended);
	assert_false(g.json);
}

static void test_opts__names_the_wrong_option(void **state)
{
	static const struct {
		const char *words[3], *message;
	} bad[] = {
		{ { "--jsom" }, "unknown option '--jsom'" },
		{ { "-x" }, "unknown option '-x'" },
		{ { "-qx" }, "unknown option '-x' in '-qx'" },
		{ { "-xq" }, "unknown option '-x' in '-xq'" },
		{ { "-\xc3\xa9" }, "unknown option '-\xc3\xa9'" },
		{ { "-qo" }, "--out needs a value (FILE)" },
		{ { "--jso" }, "unknown option '--jso'" },
		{ { "--=5" }, "unknown option '--=5'" },
		{ { "--json=yes" }, "--json takes no value" },
		{ { "--out" }, "--out needs a value (FILE)" },
		{ { "-o" }, "--out needs a value (FILE)" },
		{ { "--interval", "soon" },
		  "--interval 'soon': not a time; write 90, 0.5s, 1h30m or 1:30:00" },
		{ { "--interval", "-1" },
		  "--interval '-1': not a time; write 90, 0.5s, 1h30m or 1:30:00" },
		{ { "--limit", "7x" }, "--limit '7x': not a whole number" },
		{ { "--limit", "" }, "--limit '': not a whole number" },
	};
	struct given g;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(parse(&g, &err, bad[i].words), -EINVAL);
		assert_string_equal(err.msg, bad[i].message);
	}
}

static void test_opts__reads_sizes_in_powers_of_1024(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = { { "1024K", 1 << 20 },     { "1048576", 1 << 20 }, { "0", 0 },
		     { "500M", 500ULL << 20 }, { "1.5G", 3ULL << 29 }, { "2GiB", 2ULL << 30 },
		     { "8g", 8ULL << 30 } };
	static const char *const bad[] = { "", "x", "-1", "5X", "5 G", "99999999999T", "1G2" };
	struct given g;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(PARSE(&g, &err, "--size", good[i].text), 3);
		assert_int_equal(g.size, good[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(PARSE(&g, &err, "--size", bad[i]), -EINVAL);
	assert_non_null(strstr(err.msg, "8G"));
}

static void test_opts__suggests_the_unit_that_a_size_lacks(void **state)
{
	static const struct {
		const char *text, *message;
	} bad[] = {
		{ "1024", "--size '1024' is too small: 1024 bytes; did you mean --size 1024M?" },
		{ "8", "--size '8' is too small: 8 bytes; did you mean --size 8G?" },
		{ "1.5", "--size '1.5' is too small: 1 bytes; did you mean --size 1.5G?" },
		{ "512K", "--size '512K' is too small; write 1M or more" },
		{ "100B", "--size '100B' is too small; write 1M or more" },
	};
	struct given g;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(PARSE(&g, &err, "--size", bad[i].text), -EINVAL);
		assert_string_equal(err.msg, bad[i].message);
	}
}

static void test_opts__reads_thousandths_and_lists(void **state)
{
	struct given g;
	struct err err;

	(void)state;
	assert_int_equal(PARSE(&g, &err, "--milli", "0.5", "-t", "a=1", "--tag=b=2"), 6);
	assert_int_equal(g.milli, 500);
	assert_int_equal(g.list.len, 2);
	assert_string_equal(g.list.at[1], "b=2");
	assert_int_equal(PARSE(&g, &err, "--milli", "two"), -EINVAL);
}

RUN_TESTS(TEST(test_opts__value_that_may_be_missing_follows_an_equals_sign_only),
          TEST(test_opts__reads_sizes_in_powers_of_1024),
          TEST(test_opts__reads_thousandths_and_lists),
          TEST(test_opts__suggests_the_unit_that_a_size_lacks),
          TEST(test_opts__accepts_long_and_short_forms), TEST(test_opts__accepts_joined_letters),
          TEST(test_opts__stops_at_the_command_and_at_two_dashes),
          TEST(test_opts__names_the_wrong_option),
          TEST(test_opts__takes_two_dashes_as_a_value_where_one_is_due))
