/* SPDX-License-Identifier: MIT */
/* note_view.h - the words for what a report notes. */
#pragma once

#include "report/report.h"
#include "view/canvas.h"

struct note_words {
	char what[24];
	char text[REPORT_TEXT_MAX];
	enum ink ink; /* of `what` */
};

struct note_words note_view(const struct report *r, const struct report_note *note);
