/* SPDX-License-Identifier: MIT */
/* page_view.h - one job, or two over each other, as a page of HTML that needs no other file and no network: everything
 * as tables that can be read without scripts, and the same as data for the charts (web/src). */
#pragma once

#include "model/verdict.h"
#include "report/page_report.h"
#include "view/diff_view.h"

/* Where the template, which the build makes of web/src, is filled in. */
#define PAGE_TITLE_PLACE "@PAGE_TITLE@"
#define PAGE_BODY_PLACE "@PAGE_BODY@"
#define PAGE_DATA_PLACE "@PAGE_DATA@"

/* The parts of a page: the title as text, the rest as it stands in the page. Initialised with
 * zeros. */
struct page_parts {
	struct buf title, body, data;
};

void page_view(const struct page_report *page, const struct verdict *v, struct page_parts *ret);
/* `pages` are those of in->a and in->b; of a median only the second is used. */
void page_view_diff(const struct diff_input *in, const struct page_report *const pages[static 2],
                    struct page_parts *ret);
/* False: the template lacks one of its places. */
bool page_view_fill(const char *template, const struct page_parts *parts, struct buf *to);
void page_parts_done(struct page_parts *parts);
