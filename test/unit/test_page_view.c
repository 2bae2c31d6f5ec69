/* SPDX-License-Identifier: MIT */
#include "view/page_view.h"

#include <stdio.h>

#include "check.h"
#include "model_kit.h"

#define TEMPLATE                                                                                   \
	"<title>" PAGE_TITLE_PLACE "</title>" PAGE_BODY_PLACE "<script>" PAGE_DATA_PLACE "</script>"
#define HOSTILE "</script><img src=x onerror=alert(1)>"

static struct page_report *new_page(const char *name)
{
	struct page_report *page = xcalloc(1, sizeof *page);
	struct process_record p = kit_process(2417, "python", name, 1, 60);
	struct report_mark *mark = vec_push(&page->report.marks, REPORT_MARKS_MAX);

	page->report.job = (struct job){ .status = JOB_COMPLETED,
		                         .has_exit_code = true,
		                         .started_ns = KIT_STARTED_NS,
		                         .ended_ns = KIT_AT(60),
		                         .took_ns = 60 * NS_PER_S };
	snprintf(page->report.job.id, sizeof page->report.job.id, "%s", name);
	snprintf(page->report.job.cwd, sizeof page->report.job.cwd, "%s", name);
	*mark = (struct report_mark){ .wall_ns = KIT_AT(5) };
	snprintf(mark->name, sizeof mark->name, "%s", name);
	p.comm = name;
	page_report_begin(page);
	report_add_process(&page->report, &p);
	page_report_end(page, 60 * NS_PER_S);
	report_end(&page->report);
	return page;
}

static void free_page(struct page_report *page)
{
	page_report_done(page);
	free(page);
}

/* Whatever else it holds, there is no other element in it than those of the template and ours. */
static void test_page_view__keeps_hostile_names_text(void **state)
{
	struct page_report *page = new_page(HOSTILE);
	const struct verdict verdict = { 0 };
	struct buf out = { 0 };

	assert_true(page_view(page, &verdict, TEMPLATE, &out));
	assert_null(strstr(out.at, "<img"));
	assert_ptr_equal(strstr(out.at, "</script>"), out.at + out.len - strlen("</script>"));
	assert_non_null(
		strstr(out.at, "<h1>&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;</h1>"));
	assert_non_null(strstr(
		out.at, "\"\\u003c/script\\u003e\\u003cimg src=x onerror=alert(1)\\u003e\""));
	buf_done(&out);
	free_page(page);
}

static void test_page_view__has_every_process_once(void **state)
{
	struct page_report *page = new_page("sleep");
	const struct verdict verdict = { 0 };
	struct buf out = { 0 };

	assert_true(page_view(page, &verdict, TEMPLATE, &out));
	assert_non_null(strstr(out.at, "\"texts\":[\"sleep\"],\"rows\":[[2417,"));
	assert_non_null(strstr(out.at, "<title>sleep: ok</title>"));
	buf_done(&out);
	free_page(page);
}

static void test_page_view__refuses_a_template_without_its_places(void **state)
{
	struct page_report *page = new_page("sleep");
	const struct verdict verdict = { 0 };
	struct buf out = { 0 };

	assert_false(page_view(page, &verdict, "<title>" PAGE_TITLE_PLACE "</title>", &out));
	buf_done(&out);
	free_page(page);
}

RUN_TESTS(TEST(test_page_view__keeps_hostile_names_text),
          TEST(test_page_view__has_every_process_once),
          TEST(test_page_view__refuses_a_template_without_its_places))
