/* SPDX-License-Identifier: MIT */
#include "view/canvas.h"

#include "check.h"
#include "view/canvas_page.h"
#include "view/html.h"
#include "view/label_lines.h"
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

static void draw_page(const struct canvas_backend *backend, struct buf *out)
{
	static const struct table_column columns[] = { { "JOB", TABLE_LEFT },
		                                       { "TOOK", TABLE_RIGHT },
		                                       { "EMPTY", TABLE_LEFT, 1 } };
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };
	struct label_lines lines = { .indent = 2, .label_columns = 10 };
	struct canvas_page page = { .out = out };
	struct canvas *c = CANVAS_PAGE(*backend, &page);

	label_lines_begin_head(&lines, "a-1", "");
	label_lines_part(&lines, "ok");
	label_lines_begin(&lines, "CPU", "exact");
	label_lines_part(&lines, "1s");
	label_lines_comma(&lines, "2 of <b>");
	label_lines_part(&lines, "3");
	label_lines_print(&lines, c);
	label_lines_done(&lines);
	table_add(&t, "a|b\n<i>", INK_BAD);
	table_add_figure(&t, NULL, INK_PLAIN);
	table_add(&t, "", INK_PLAIN);
	canvas_title(c, "Jobs");
	table_print(&t, c);
	table_done(&t);
	canvas_put(c, INK_PLAIN, "  - and ");
	canvas_put(c, INK_QUIET, "more\n");
	table_print_prose(c, "some prose", INK_PLAIN, 2);
}

static void test_canvas_markdown__has_titles_tables_and_lines(void **state)
{
	struct buf out = { 0 };

	draw_page(&canvas_markdown, &out);
	assert_string_equal(out.at, "### a-1\n\nok\n\n"
	                            "| | | |\n|---|---|---|\n"
	                            "| CPU | 1s, 2 of &lt;b&gt; · 3 | exact |\n\n"
	                            "#### Jobs\n\n"
	                            "| JOB | TOOK |\n|---|--:|\n"
	                            "| **a\\|b\\\\n&lt;i&gt;** | - |\n\n"
	                            "\\- and more\n\nsome prose\n\n");
	buf_done(&out);
}

static void draw_head(const struct canvas_backend *backend, struct buf *out)
{
	struct label_lines lines = { 0 };
	struct canvas_page page = { .out = out };

	label_lines_begin_head(&lines, "A a-1", "");
	label_lines_print(&lines, CANVAS_PAGE(*backend, &page));
	label_lines_done(&lines);
}

static void test_canvas_page__has_no_line_below_a_head_by_itself(void **state)
{
	struct buf markdown = { 0 }, html = { 0 };

	(void)state;
	draw_head(&canvas_markdown, &markdown);
	draw_head(&canvas_html, &html);
	assert_string_equal(markdown.at, "### A a-1\n\n");
	assert_string_equal(html.at, "<h1>A a-1</h1>\n");
	buf_done(&markdown);
	buf_done(&html);
}

/* Whatever a name holds, it stays text: no link, no picture, no user or issue that would be notified. */
static void test_canvas_markdown__leaves_no_markup_in_text(void **state)
{
	struct buf out = { 0 };
	struct canvas_page page = { .out = &out };
	struct canvas *c = CANVAS_PAGE(canvas_markdown, &page);

	canvas_put(
		c, INK_PLAIN,
		"[x](http://h) ![p] `c` *b* _i_ ~s~ @root #12 # www.h <script>& a|b\\\n= x\n+ y");
	assert_string_equal(
		out.at, "\\[x\\](http\\://h) !\\[p\\] \\`c\\` \\*b\\* \\_i\\_ \\~s\\~ "
			"@<!-- -->root \\#<!-- -->12 \\# www\\.h &lt;script&gt;&amp; a\\|b\\\\\n\n"
			"\\= x\n\n\\+ y");
	buf_done(&out);
}

static void test_canvas_html__has_titles_tables_and_lines(void **state)
{
	struct buf out = { 0 };

	draw_page(&canvas_html, &out);
	assert_string_equal(
		out.at,
		"<h1>a-1</h1>\n<p class=\"verdict\">ok</p>\n"
		"<table class=\"lines\"><tbody><tr><th scope=\"row\">CPU</th><td>1s, 2 of &lt;b&gt; · 3</td>"
		"<td class=\"quality\">exact</td></tr>\n</tbody></table>\n"
		"<h2>Jobs</h2>\n<div class=\"wide\"><table class=\"sorts\"><thead><tr><th>JOB</th>"
		"<th class=\"right \">TOOK</th></tr>\n</thead>\n"
		"<tbody><tr><td class=\"bad\">a|b\\n&lt;i&gt;</td><td class=\"right quiet\">-</td></tr>\n"
		"</tbody></table></div>\n"
		"<p class=\"line\">- and <span class=\"quiet\">more</span></p>\n<p class=\"line\">some prose</p>\n");
	buf_done(&out);
}

static void test_html__puts_nothing_that_ends_an_element(void **state)
{
	struct buf out = { 0 };

	html_put_text(&out, "<a b=\"c\" d='e'>&\xff", 18);
	assert_string_equal(out.at, "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;\xef\xbf\xbd");
	buf_reset(&out);
	html_put_json(&out, "[\"</script><!--&\"]", 19);
	assert_string_equal(out.at, "[\"\\u003c/script\\u003e\\u003c!--\\u0026\"]");
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

RUN_TESTS(TEST(test_canvas_markdown__has_titles_tables_and_lines),
          TEST(test_canvas_page__has_no_line_below_a_head_by_itself),
          TEST(test_canvas_markdown__leaves_no_markup_in_text),
          TEST(test_canvas_html__has_titles_tables_and_lines),
          TEST(test_html__puts_nothing_that_ends_an_element),
          TEST(test_canvas__lets_another_back_end_show_what_renderers_draw),
          TEST(test_canvas__ends_no_line_in_blanks),
          TEST(test_canvas__escapes_and_measures_text_from_outside))
