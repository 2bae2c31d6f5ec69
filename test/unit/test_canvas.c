/* SPDX-License-Identifier: MIT */
#include "view/canvas.h"

#include "check.h"
#include "view/table.h"

/* A back end as a page would have it: every run is marked up, whatever its ink. */
static void markup_put(void *self, enum ink ink, const char *text, size_t n)
{
	static const char *const names[] = {
		[INK_PLAIN] = "",      [INK_TITLE] = "title",     [INK_STRONG] = "strong",
		[INK_LABEL] = "label", [INK_QUALITY] = "quality", [INK_QUIET] = "quiet",
		[INK_GOOD] = "good",   [INK_WARN] = "warn",       [INK_BAD] = "bad",
	};

	if (!*names[ink]) {
		buf_put(self, text, n);
		return;
	}
	buf_printf(self, "<%s>", names[ink]);
	buf_put(self, text, n);
	buf_printf(self, "</%s>", names[ink]);
}

static void test_canvas__lets_another_back_end_show_what_renderers_draw(void **state)
{
	static const struct canvas_backend markup = { .put = markup_put };
	static const struct table_column columns[] = { { "JOB", TABLE_LEFT },
		                                       { "TOOK", TABLE_RIGHT } };
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };
	struct buf out = { 0 };
	struct canvas c = { .backend = &markup, .self = &out, .width = 40 };

	table_add(&t, "train-7", INK_BAD);
	table_add_figure(&t, NULL, INK_PLAIN);
	canvas_title(&c, "Jobs");
	table_print(&t, &c);
	assert_string_equal(out.at, "\n<title>Jobs</title>\n"
	                            "<title>JOB</title>      <title>TOOK</title>\n"
	                            "<bad>train-7</bad>     <quiet>-</quiet>\n");
	table_done(&t);
	buf_done(&out);
}

static void test_canvas__ends_no_line_in_blanks(void **state)
{
	const struct style style = { .width = 40 };
	struct buf out = { 0 };
	struct canvas *c = CANVAS(&style, &out);

	canvas_pad(c, 3);
	canvas_put(c, INK_PLAIN, "a");
	canvas_pad(c, 50);
	canvas_put(c, INK_PLAIN, "");
	canvas_newline(c);
	canvas_pad(c, 34);
	canvas_put(c, INK_PLAIN, "b");
	assert_string_equal(out.at, "   a\n                                  b");
	buf_done(&out);
}

static void test_canvas__escapes_and_measures_text_from_outside(void **state)
{
	const struct style style = { .color = true, .width = 40 };
	struct buf out = { 0 };
	struct canvas *c = CANVAS(&style, &out);

	assert_int_equal(canvas_text(c, INK_BAD, "a\x1b[2J", 5, SIZE_MAX), 8);
	assert_string_equal(out.at, "\x1b[31ma\\x1b[2J\x1b[0m");
	buf_done(&out);
}

RUN_TESTS(TEST(test_canvas__lets_another_back_end_show_what_renderers_draw),
          TEST(test_canvas__ends_no_line_in_blanks),
          TEST(test_canvas__escapes_and_measures_text_from_outside))
