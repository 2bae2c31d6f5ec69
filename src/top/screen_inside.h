/* SPDX-License-Identifier: MIT */
/* screen_inside.h - what the files of the screen share. */
#pragma once

#include "base/user_names.h"
#include "top/past.h"
#include "top/screen.h"
#include "top/terminal.h"
#include "top/wait_words.h"
#include "view/top_view.h"

struct screen {
	const struct top_options *options;
	struct terminal terminal;
	struct top_state state;
	struct frame frame; /* what is shown */
	struct grid grid;
	struct top_layout layout;
	struct link link;
	struct past past;
	struct user_names users;
	struct wait_words waits;
	bool has_past;           /* `past` is open */
	uint64_t past_since_ns;  /* from when on its moments were read */
	uint64_t message_until_ns, connect_ns, due_ns; /* monotonic; 0: never */
	bool is_dirty, quits;
	int signal_fd;
};

/* For a few seconds in the last line. */
void screen_show_message(struct screen *s, bool is_bad, const char *fmt, ...) printf_like(3, 4);
/* A key or the mouse. */
void screen_key(struct screen *s, struct terminal_event e);
/* Rows follow from the frame and the state. */
void screen_arrange(struct screen *s);

/* ---- actions --------------------------------------------------------------------------------- */

/* Asks whether to end the marked processes, or the selected one, or those of the selected job. */
void screen_ask_kill(struct screen *s);
void screen_kill(struct screen *s);
void screen_trace(struct screen *s);
/* A page of text that `proctor VERB JOB` prints about the selected job. */
void screen_read(struct screen *s, const char *verb);
void screen_suspend(struct screen *s);

/* ---- time ------------------------------------------------------------------------------------ */

/* To the past, as far back as that; the latest moment is shown. */
bool screen_enter_past(struct screen *s, uint64_t back_ns);
void screen_leave_past(struct screen *s);
/* Shows the moment that `past` is at. */
void screen_show_past(struct screen *s);
void screen_step(struct screen *s, long by);
