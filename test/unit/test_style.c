/* SPDX-License-Identifier: MIT */
#include "view/canvas.h"

#include "check.h"
#include "view/format.h"

static bool has_color(enum style_choice choice, struct style_env env)
{
	return style_choose(choice, &env).color;
}

static void test_style__colours_a_terminal_and_nothing_else(void **state)
{
	assert_true(has_color(STYLE_AUTO, (struct style_env){ .is_tty = true, .term = "xterm" }));
	assert_false(has_color(STYLE_AUTO, (struct style_env){ .is_tty = false, .term = "xterm" }));
	assert_false(has_color(STYLE_AUTO, (struct style_env){ .is_tty = true, .term = "dumb" }));
}

static void test_style__follows_no_color_and_clicolor_force(void **state)
{
	assert_false(has_color(STYLE_AUTO, (struct style_env){ .is_tty = true, .no_color = "1" }));
	assert_true(has_color(STYLE_AUTO, (struct style_env){ .is_tty = true, .no_color = "" }));
	assert_true(has_color(STYLE_AUTO, (struct style_env){ .clicolor_force = "1" }));
	assert_false(has_color(STYLE_AUTO, (struct style_env){ .clicolor_force = "0" }));
	assert_false(has_color(STYLE_AUTO,
	                       (struct style_env){ .clicolor_force = "1", .no_color = "1" }));
}

static void test_style__the_command_line_counts_most(void **state)
{
	assert_true(has_color(STYLE_ALWAYS, (struct style_env){ .no_color = "1" }));
	assert_false(has_color(STYLE_NEVER,
	                       (struct style_env){ .is_tty = true, .clicolor_force = "1" }));
}

static void test_style__reads_the_choice(void **state)
{
	enum style_choice choice = STYLE_NEVER;

	assert_true(style_parse_choice(NULL, &choice));
	assert_int_equal(choice, STYLE_AUTO);
	assert_true(style_parse_choice("always", &choice));
	assert_int_equal(choice, STYLE_ALWAYS);
	assert_false(style_parse_choice("sometimes", &choice));
	assert_int_equal(choice, STYLE_ALWAYS);
}

static size_t width(struct style_env env)
{
	return style_choose(STYLE_AUTO, &env).width;
}

static void test_style__cuts_nothing_in_a_pipe(void **state)
{
	assert_true(width((struct style_env){ 0 }) == SIZE_MAX);
	assert_int_equal(width((struct style_env){ .columns = "100" }), 100);
	assert_int_equal(width((struct style_env){ .is_tty = true, .tty_width = 120 }), 120);
	assert_int_equal(width((struct style_env){ .is_tty = true }), 80);
	assert_int_equal(width((struct style_env){ .is_tty = true, .tty_width = 1 }), 40);
	assert_int_equal(
		width((struct style_env){ .is_tty = true, .columns = "junk", .tty_width = 90 }),
		90);
	assert_int_equal(
		width((struct style_env){ .is_tty = true, .columns = "-5", .tty_width = 90 }), 90);
}

static void test_style__draws_bars_in_blocks_unless_the_locale_forbids_it(void **state)
{
	const struct style blocks = style_choose(STYLE_AUTO,
	                                         &(struct style_env){ .lang = "en_US.UTF-8" });
	const struct style plain = style_choose(
		STYLE_AUTO, &(struct style_env){ .lc_all = "C", .lang = "en_US.UTF-8" });

	assert_string_equal(format_bar(0.7, blocks.unicode).at, "███████░░░");
	assert_string_equal(format_bar(0.25, plain.unicode).at, "###.......");
	assert_string_equal(format_bar(7, plain.unicode).at, "##########");
	assert_string_equal(format_bar(-7, plain.unicode).at, "..........");
	assert_true(style_choose(STYLE_AUTO, &(struct style_env){ 0 }).unicode);
}

RUN_TESTS(TEST(test_style__colours_a_terminal_and_nothing_else),
          TEST(test_style__follows_no_color_and_clicolor_force),
          TEST(test_style__the_command_line_counts_most), TEST(test_style__reads_the_choice),
          TEST(test_style__cuts_nothing_in_a_pipe),
          TEST(test_style__draws_bars_in_blocks_unless_the_locale_forbids_it))
