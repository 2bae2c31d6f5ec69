/* SPDX-License-Identifier: MIT */
#include "report/page_report.h"

#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "model/own_process.h"

/* Thousands of processes share a few names and commands. */
static size_t find_text(struct page_report *page, const char *text)
{
	uint64_t hash = hash_bytes(HASH_SEED, text, strlen(text)), index;

	if (map_get(&page->text_of, hash, &index) &&
	    strcmp(page_report_text(page, (size_t)index), text) == 0)
		return (size_t)index;
	index = page->texts.len;
	*vec_push(&page->texts, SIZE_MAX) = page->text.len;
	buf_put(&page->text, text, strlen(text) + 1);
	map_put(&page->text_of, hash, index);
	return (size_t)index;
}

int page_report_add_process(void *self, const struct process_record *row)
{
	struct page_report *page = self;
	const struct process_record in = report_process_of(&page->report.job, row,
	                                                   page->processes.len == 0),
				    *p = &in;
	struct page_process *to = vec_push(&page->processes, PAGE_PROCESSES_MAX);
	char command[PAGE_COMMAND_MAX];

	if (!to)
		return 0;
	text_copy(command, sizeof command, p->command ? p->command : "");
	*to = (struct page_process){
		.id = p->id,
		.ppid = p->ppid,
		.sheet = p->sheet,
		.started_ns = p->started_ns,
		.ended_ns = p->ended_ns,
		.has_exit_code = p->has_exit_code,
		.core_dumped = p->core_dumped,
		.exit_code = p->exit_code,
		.signal = p->signal,
		.cpu_time_ns = p->cpu_time_ns,
		.peak_rss_bytes = p->peak_rss_bytes,
		.read_bytes = p->read_bytes,
		.written_bytes = p->written_bytes,
		.name = find_text(page, p->comm && *p->comm ? p->comm : "?"),
		.command = find_text(page, command),
	};
	return 0;
}

/* ---- the I/O of children ------------------------------------------------------------------------- */

/* The kernel adds the I/O of a child to the parent that waits for it. Whether one did is not recorded: what
 * is left may have been more. */
static void take_away(struct figure *parent, struct figure child)
{
	if (!figure_is_known(*parent) || !figure_is_known(child) || !child.value)
		return;
	parent->quality = child.quality == QUALITY_EXACT
	                          ? quality_join(parent->quality, QUALITY_AT_LEAST)
	                          : QUALITY_SAMPLED;
	if (child.value > parent->value)
		*parent = (struct figure){ 0 };
	else
		parent->value -= child.value;
}

static bool may_have_waited(const struct page_process *parent, const struct page_process *child)
{
	return child->ended_ns && child->started_ns >= parent->started_ns &&
	       (!parent->ended_ns || child->ended_ns <= parent->ended_ns);
}

/* A parent comes before its children, whose own are whole when they are taken away from it. */
static void separate_io(struct page_report *page)
{
	cleanup(map_done) struct map index_of = { 0 }; /* pid → the index of its latest process */
	const struct figure missing = { 0 };

	for (size_t i = 0; i < page->processes.len; i++) {
		struct page_process *p = &page->processes.at[i], *parent;
		uint64_t at;

		parent = map_get(&index_of, (uint64_t)p->ppid, &at) ? &page->processes.at[at]
		                                                    : NULL;
		map_put(&index_of, (uint64_t)p->id.pid, i);
		if (!parent || !may_have_waited(parent, p))
			continue;
		take_away(&parent->read_bytes, p->read_bytes);
		take_away(&parent->written_bytes, p->written_bytes);
	}
	vec_each(&page->processes, p)
		if (own_process_has_name(page_report_text(page, p->name)))
			p->read_bytes = p->written_bytes = missing; /* those of its command */
}

void page_report_end(struct page_report *page, uint64_t took_ns)
{
	page->left_out = page->report.processes - MIN(page->report.processes, page->processes.len);
	separate_io(page);
	run_curve_set_make(&page->report, took_ns, &page->curves);
	run_band_begin(&page->band, took_ns);
}

int page_report_gather(struct page_report *page, struct history *history, struct err *err)
{
	int n = history ? history_job_processes(history, job_key_of(&page->report.job),
	                                        PAGE_PROCESSES_MAX, page_report_add_process, page,
	                                        err)
	                : 0;

	page_report_end(page, job_took_ns(&page->report.job, page->report.now_ns));
	return MIN(n, 0);
}

void page_report_add_band(struct page_report *page, struct history *history)
{
	const struct job *job = &page->report.job;

	if (history)
		(void)!run_band_gather(history, job, job_took_ns(job, page->report.now_ns),
		                       &page->band, &page->band_error);
}

const char *page_report_text(const struct page_report *page, size_t text)
{
	return page->text.at + page->texts.at[text];
}

void page_report_done(struct page_report *page)
{
	run_curve_set_done(&page->curves);
	vec_done(&page->processes);
	vec_done(&page->texts);
	buf_done(&page->text);
	map_done(&page->text_of);
	report_done(&page->report);
}
