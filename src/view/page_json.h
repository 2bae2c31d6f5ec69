/* SPDX-License-Identifier: MIT */
/* page_json.h - what the scripts of a page draw. */
#pragma once

#include "base/json.h"
#include "report/page_report.h"

void page_json(const struct page_report *const *pages, size_t n, struct json *j);
