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
	report_add_process(&page->report, &p);
	page_report_add_process(page, &p);
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
	struct page_parts parts = { 0 };
	struct buf out = { 0 };

	page_view(page, &verdict, &parts);
	assert_true(page_view_fill(TEMPLATE, &parts, &out));
	assert_null(strstr(out.at, "<img"));
	assert_ptr_equal(strstr(out.at, "</script>"), out.at + out.len - strlen("</script>"));
	assert_non_null(
		strstr(out.at, "<h1>&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;</h1>"));
	assert_non_null(strstr(
		out.at, "\"\\u003c/script\\u003e\\u003cimg src=x onerror=alert(1)\\u003e\""));
	buf_done(&out);
	page_parts_done(&parts);
	free_page(page);
}

static void test_page_view__has_every_process_once(void **state)
{
	struct page_report *page = new_page("sleep");
	const struct verdict verdict = { 0 };
	struct page_parts parts = { 0 };
	struct buf out = { 0 };

	page_view(page, &verdict, &parts);
	assert_true(page_view_fill(TEMPLATE, &parts, &out));
	assert_non_null(strstr(out.at, "\"texts\":[\"sleep\"],\"rows\":[[2417,"));
	assert_non_null(strstr(out.at, "<title>sleep: ok</title>"));
	buf_done(&out);
	page_parts_done(&parts);
	free_page(page);
}

/* A sheet that failed: sh runs proctor, which runs the command. */
static struct page_report *new_wrapped_page(void)
{
	struct page_report *page = xcalloc(1, sizeof *page);
	struct process_record shell = kit_process(2417, "sh", "sh job.sh", 1, 60);
	struct process_record ours = kit_process(2418, "proctor", "proctor sheet 1", 2, 50);
	struct process_record command = kit_process(2419, "dd", "dd", 3, 49);
	struct process_record second = kit_process(2420, "cat", "cat", 51, 52);
	const struct process_record *const all[] = { &shell, &ours, &command, &second };

	command.ppid = 2418;
	ours.exit_code = command.exit_code = 3;
	page->report.job = (struct job){ .status = JOB_COMPLETED, .started_ns = KIT_STARTED_NS };
	shell.read_bytes = kit_exact(900);
	ours.read_bytes = kit_exact(800);
	command.read_bytes = kit_exact(700);
	second.read_bytes = kit_exact(40);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		report_add_process(&page->report, all[i]);
		page_report_add_process(page, all[i]);
	}
	page_report_end(page, 60 * NS_PER_S);
	report_end(&page->report);
	return page;
}

static void test_page_view__counts_a_failure_once_as_the_totals_do(void **state)
{
	struct page_report *page = new_wrapped_page();
	const struct verdict verdict = { 0 };
	struct page_parts parts = { 0 };

	page_view(page, &verdict, &parts);
	assert_non_null(strstr(parts.data.at, "\"passed\",\"exit 3\""));
	assert_null(strstr(strstr(parts.data.at, "\"failed\",\"exit 3\"") + 1, "\"failed\",\"exit"));
	page_parts_done(&parts);
	free_page(page);
}

/* The kernel adds it to those that wait for the process. */
static void test_page_report__does_not_count_the_io_of_children_for_their_parents(void **state)
{
	struct page_report *page = new_wrapped_page();
	const struct page_process *p = page->processes.at;

	assert_int_equal(p[0].read_bytes.value, 60);
	assert_int_equal(p[0].read_bytes.quality, QUALITY_AT_LEAST);
	assert_int_equal(p[1].read_bytes.quality, QUALITY_MISSING); /* a program of ours */
	assert_int_equal(p[2].read_bytes.value, 700);
	assert_int_equal(p[2].read_bytes.quality, QUALITY_EXACT);
	free_page(page);
}

static void test_page_view__refuses_a_template_without_its_places(void **state)
{
	struct page_report *page = new_page("sleep");
	const struct verdict verdict = { 0 };
	struct page_parts parts = { 0 };
	struct buf out = { 0 };

	page_view(page, &verdict, &parts);
	assert_false(page_view_fill("<title>" PAGE_TITLE_PLACE "</title>", &parts, &out));
	buf_done(&out);
	page_parts_done(&parts);
	free_page(page);
}

RUN_TESTS(TEST(test_page_view__keeps_hostile_names_text),
          TEST(test_page_view__has_every_process_once),
          TEST(test_page_view__counts_a_failure_once_as_the_totals_do),
          TEST(test_page_report__does_not_count_the_io_of_children_for_their_parents),
          TEST(test_page_view__refuses_a_template_without_its_places))
