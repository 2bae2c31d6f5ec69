/* SPDX-License-Identifier: MIT */
/* top_state.h - what the user of `proctor top` chose, and the rows of the tree that follow from it and from the frame. */
#pragma once

#include "base/map.h"
#include "view/frame.h"

/* The orders of rows: by a figure, or one of these. */
enum { TOP_SORT_AGE = FRAME_FIGURE_COUNT, TOP_SORT_PID, TOP_SORT_COUNT };
const char *top_sort_name(unsigned sort);
int top_sort_letter(unsigned sort); /* 0: none */

enum top_mode {
	TOP_NORMAL,
	TOP_SORTING,  /* the menu of orders */
	TOP_FILTER,   /* a line is typed: what rows must contain */
	TOP_SEARCH,   /* … what to go to */
	TOP_GOTO,     /* … a time */
	TOP_KILLING,  /* which signal, and whether */
	TOP_READING,  /* a page of text: the keys, or why a job failed */
};

enum top_row_kind { TOP_ROW_JOB, TOP_ROW_SHEET, TOP_ROW_PROC, TOP_ROW_OTHERS };

struct top_row {
	enum top_row_kind kind;
	uint32_t index; /* in its list of the frame */
	uint8_t depth;
	bool has_children, is_open;
	uint64_t key; /* the same in every frame */
};

/* The history of a row in the last frames, newest last. */
#define TOP_TRAIL 240
struct top_trail {
	uint64_t key;
	uint64_t seen; /* the number of the last frame it was in */
	uint32_t len;
	float cpu[TOP_TRAIL], mem[TOP_TRAIL];
	uint64_t wall_ns; /* of the newest */
};

#define TOP_INPUT_MAX 120
#define TOP_VICTIMS_MAX 1024

struct top_victim {
	pid_t pid;
	uint64_t started_ns; /* wall clock, to about a second */
};

struct top_state {
	unsigned sort;
	bool is_reversed;
	const char *job; /* --job; NULL: all */
	char filter[TOP_INPUT_MAX], search[TOP_INPUT_MAX];
	uint64_t selected;  /* the key of a row; 0: the first */
	size_t at, first;   /* the selected row, and the first that is shown */
	struct map toggled; /* rows that are not as they are by default: keys */
	struct map marked;  /* pids */

	enum top_mode mode;
	char input[TOP_INPUT_MAX];
	size_t menu; /* the selected line of a menu, or the first of a page */
	char page_title[JOB_ID_MAX + 16];
	struct buf page;
	struct top_victim victims[TOP_VICTIMS_MAX];
	size_t victim_count;
	char victim_name[JOB_ID_MAX]; /* of the process or the job, or of what all of them are */
	pid_t victim_pid;             /* 0: they are several */

	char message[200]; /* "": none */
	bool is_bad;       /* … it is an error */
	bool is_paused;
	bool is_past;       /* the frame is from the store */
	bool has_store;     /* there is a past to travel to */
	char place[80];     /* in the past: "12 of 3,600", "" otherwise */
	char trouble[160];  /* the daemon does not answer; "": all is well */
	uint64_t now_ns;    /* wall clock, for ages in the past */
	bool events_only_bad;
	const char *(*user_name)(void *self, uint32_t uid); /* NULL: numbers */
	void *users;
	const struct map *
		wait_words; /* pid → what it waits in, a const char *, of the rows that are shown; NULL: not known */
	char blocked[120];   /* what the selected process waits for; "": not known */
	pid_t blocked_pid;

	VEC(struct top_row) rows;
	struct top_row spare; /* where one beyond the most is written */
	VEC(struct top_trail *) trails;
	struct map trail_of; /* key → index in trails */
	uint64_t frames;
};

void top_state_done(struct top_state *s);
uint64_t top_state_job_key(const struct frame *f, size_t job);
uint64_t top_state_proc_key(pid_t pid);
#define TOP_KEY_OTHERS UINT64_C(1)
#define TOP_KEY_MACHINE UINT64_C(2)
/* A new frame: the history of its rows grows. Not for a frame that was shown before. */
void top_state_note(struct top_state *s, const struct frame *f);
/* The history of one row, from elsewhere: n points, newest last. */
void top_state_set_trail(struct top_state *s, uint64_t key, const float *cpu, const float *mem, size_t n);
void top_state_forget_trails(struct top_state *s);
const struct top_trail *top_state_trail(const struct top_state *s, uint64_t key); /* NULL: none */
/* The rows of the frame as the state wants them, and where the selected one is now. */
void top_state_arrange(struct top_state *s, const struct frame *f);
const struct top_row *top_state_row(const struct top_state *s); /* NULL: there is none */
void top_state_move(struct top_state *s, long by);              /* the selection */
void top_state_toggle(struct top_state *s, uint64_t key);
/* Selects the next row that contains the searched text, from the one after the selected on. False: none does. */
bool top_state_find(struct top_state *s, const struct frame *f, bool from_here);
/* Selects the process, or else the job, if there is a row for it. */
void top_state_select(struct top_state *s, const struct frame *f, struct job_key job, pid_t pid);
/* The job that the row is, or is in; -1: none. */
int32_t top_state_job_of(const struct frame *f, const struct top_row *row);
