/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/time_parse.h"
#include "top/screen_inside.h"
#include "view/format.h"

#define HISTORY_DEFAULT_NS (3600 * NS_PER_S)
#define CTRL(letter) ((letter) & 0x1f)

/* ---- a line that is typed -------------------------------------------------------------------- */

static void type(struct top_state *t, int key)
{
	size_t n = strlen(t->input);

	if (key == KEY_ERASE) {
		while (n && (t->input[n - 1] & 0xc0) == 0x80)
			t->input[--n] = '\0'; /* the rest of a UTF-8 character */
		if (n)
			t->input[n - 1] = '\0';
	} else if (key == CTRL('u')) {
		t->input[0] = '\0';
	} else if (key >= ' ' && key < 0x100 && n + 1 < sizeof t->input) {
		t->input[n] = (char)key;
		t->input[n + 1] = '\0';
	}
}

/* `mode` is the enum top_mode of what is typed. */
static void begin_typing(struct screen *s, long mode)
{
	s->state.mode = (enum top_mode)mode;
	snprintf(s->state.input, sizeof s->state.input, "%s",
	         mode == TOP_FILTER ? s->state.filter : "");
}

static void go_to_time(struct screen *s)
{
	uint64_t ns, now = clock_wall_ns();
	bool is_there;

	if (!time_parse(scan_str(s->state.input), now, &ns)) {
		screen_show_message(s, true, "'%.40s' is not a time: " TIME_GRAMMAR,
		                    s->state.input);
		return;
	}
	if (!s->state.is_past || ns < s->past_since_ns)
		if (!screen_enter_past(s, ns < now ? now - ns + 60 * NS_PER_S : HISTORY_DEFAULT_NS))
			return;
	is_there = past_goto(&s->past, ns);
	screen_show_past(s);
	if (!is_there)
		screen_show_message(s, false,
		                    "nothing was recorded after that; this is the latest sample");
}

static void find(struct screen *s, bool from_here)
{
	if (s->state.search[0] && !top_state_find(&s->state, &s->frame, from_here))
		screen_show_message(s, false, "no row has '%.60s'", s->state.search);
}

static void accept_input(struct screen *s)
{
	struct top_state *t = &s->state;
	enum top_mode mode = t->mode;

	t->mode = TOP_NORMAL;
	if (mode == TOP_GOTO)
		go_to_time(s);
}

/* Filter and search act while they are typed. */
static void type_key(struct screen *s, int key)
{
	struct top_state *t = &s->state;

	if (key == KEY_ESCAPE) {
		if (t->mode == TOP_FILTER)
			t->filter[0] = '\0';
		t->mode = TOP_NORMAL;
		screen_arrange(s);
		return;
	}
	if (key == KEY_ACCEPT) {
		accept_input(s);
		return;
	}
	type(t, key);
	if (t->mode == TOP_FILTER) {
		memcpy(t->filter, t->input, sizeof t->filter);
		screen_arrange(s);
	} else if (t->mode == TOP_SEARCH) {
		memcpy(t->search, t->input, sizeof t->search);
		find(s, true);
	}
}

/* ---- menus and pages ------------------------------------------------------------------------- */

static void page_key(struct screen *s, int key)
{
	struct top_state *t = &s->state;

	if (key == KEY_GO_DOWN || key == 'j' || key == KEY_WHEEL_DOWN)
		t->menu++;
	else if (key == KEY_PAGE_DOWN || key == ' ')
		t->menu += 10;
	else if ((key == KEY_GO_UP || key == 'k' || key == KEY_WHEEL_UP) && t->menu)
		t->menu--;
	else if (key == KEY_PAGE_UP)
		t->menu -= MIN(t->menu, (size_t)10);
	else if (key != KEY_GO_UP && key != 'k' && key != KEY_WHEEL_UP && key != KEY_RESIZED)
		t->mode = TOP_NORMAL;
}

static void sort_by(struct screen *s, unsigned sort)
{
	if (s->state.sort == sort)
		s->state.is_reversed = !s->state.is_reversed;
	else
		s->state.is_reversed = false;
	s->state.sort = sort;
	screen_arrange(s);
}

static void sort_key(struct screen *s, int key)
{
	struct top_state *t = &s->state;

	if (key == KEY_GO_DOWN || key == 'j')
		t->menu = MIN(t->menu + 1, (size_t)TOP_SORT_COUNT - 1);
	else if (key == KEY_GO_UP || key == 'k')
		t->menu -= t->menu > 0;
	else if (key == KEY_ACCEPT || key == KEY_ESCAPE || key == 'q') {
		t->mode = TOP_NORMAL;
		if (key == KEY_ACCEPT && t->sort != t->menu)
			sort_by(s, (unsigned)t->menu);
	}
}

static void kill_key(struct screen *s, int key)
{
	if (key == KEY_TAB) {
		s->state.menu = !s->state.menu;
	} else if (key == 'y' || key == 'Y') {
		s->state.mode = TOP_NORMAL;
		screen_kill(s);
	} else if (key != KEY_RESIZED) {
		s->state.mode = TOP_NORMAL;
		screen_show_message(s, false, "nothing was sent");
	}
}

/* ---- the tree -------------------------------------------------------------------------------- */

static void move(struct screen *s, long by)
{
	top_state_move(&s->state, by);
}

static void move_pages(struct screen *s, long by)
{
	move(s, by * ((long)MAX(s->layout.rows_n, (size_t)2) - 1));
}

static void move_to_end(struct screen *s, long by)
{
	move(s, by * (long)s->state.rows.len);
}

enum fold { FOLD_TOGGLE, FOLD_OPEN, FOLD_CLOSE };

/* The row itself, or the one that it is in. */
static void fold(struct screen *s, long how)
{
	const struct top_row *row = top_state_row(&s->state);

	if (!row)
		return;
	if (how == FOLD_OPEN && row->is_open)
		return;
	if (!row->has_children && how != FOLD_OPEN)
		while (s->state.at && s->state.rows.at[s->state.at].depth >= row->depth &&
		       row->depth)
			top_state_move(&s->state, -1);
	row = top_state_row(&s->state);
	if (row->has_children && !(how == FOLD_CLOSE && !row->is_open)) {
		top_state_toggle(&s->state, row->key);
		screen_arrange(s);
	}
}

static void mark(struct screen *s)
{
	const struct top_row *row = top_state_row(&s->state);
	uint64_t pid;

	if (!row || row->kind != TOP_ROW_PROC) {
		screen_show_message(s, false, "only processes can be marked");
		return;
	}
	pid = (uint64_t)s->frame.procs.at[row->index].pid;
	if (!map_del(&s->state.marked, pid))
		map_put(&s->state.marked, pid, 1);
	top_state_move(&s->state, 1);
}

static void unmark_all(struct screen *s)
{
	map_reset(&s->state.marked);
}

static void click(struct screen *s, struct terminal_event e)
{
	const struct top_layout *l = &s->layout;
	size_t x = (size_t)MAX(e.x, 0), y = (size_t)MAX(e.y, 0), row;

	if (y == l->head_y && l->rows_n)
		for (size_t i = 0; i < l->columns; i++)
			if (x >= l->column[i].x && x < l->column[i].end &&
			    l->column[i].sort != TOP_SORT_COUNT)
				sort_by(s, l->column[i].sort);
	if (y < l->rows_y || y >= l->rows_y + l->rows_n)
		return;
	row = s->state.first + y - l->rows_y;
	if (row >= s->state.rows.len)
		return;
	if (row == s->state.at && s->state.rows.at[row].has_children)
		fold(s, FOLD_TOGGLE);
	else
		top_state_move(&s->state, (long)row - (long)s->state.at);
}

static bool sort_letter(struct screen *s, int key)
{
	for (unsigned sort = 0; key && sort < TOP_SORT_COUNT; sort++)
		if (top_sort_letter(sort) == key) {
			sort_by(s, sort);
			return true;
		}
	return false;
}

/* ---- in the past ----------------------------------------------------------------------------- */

static void go(struct screen *s, bool found, const char *otherwise)
{
	if (found)
		screen_show_past(s);
	else
		screen_show_message(s, false, "%s", otherwise);
}

static void go_to_peak(struct screen *s, long of_cpu)
{
	go(s, past_peak(&s->past, of_cpu), "no peak is known");
}

static void go_to_trouble(struct screen *s, long before)
{
	const struct frame_event *e = past_trouble(&s->past, before);
	const struct frame *log = &s->past.log;
	const char *job;

	go(s, e,
	   before ? "no anomaly and no death before this" : "no anomaly and no death after this");
	if (!e)
		return;
	job = frame_str(log, e->job);
	top_state_select(&s->state, &s->frame, (struct job_key){ e->job_uid, job }, e->pid);
	screen_show_message(s, false, "%s  %s%s%s", format_clock(e->wall_ns).at, job,
	                    *job ? ": " : "", frame_str(log, e->what));
}

static void enter_past(struct screen *s)
{
	(void)screen_enter_past(s, HISTORY_DEFAULT_NS);
}

/* ---- actions --------------------------------------------------------------------------------- */

static void show_help(struct screen *s);

static void quit(struct screen *s)
{
	s->quits = true;
}

static void choose_order(struct screen *s)
{
	s->state.mode = TOP_SORTING;
	s->state.menu = s->state.sort;
}

static void reverse(struct screen *s)
{
	sort_by(s, s->state.sort);
}

static void show_why(struct screen *s)
{
	screen_read(s, "why");
}

static void show_report(struct screen *s)
{
	screen_read(s, "report");
}

static void pause_or_not(struct screen *s)
{
	s->state.is_paused = !s->state.is_paused;
	s->is_dirty = true;
}

static void find_next(struct screen *s)
{
	find(s, false);
}

static void show_all(struct screen *s)
{
	s->state.filter[0] = s->state.message[0] = '\0';
	screen_arrange(s);
}

static void redraw(struct screen *s)
{
	terminal_return(&s->terminal);
}

/* ---- all keys -------------------------------------------------------------------------------- */

/* The actions of keys, and their line on the page of help. One without names is part of another's
 * line, one without keys is only shown. */
struct binding {
	int keys[4];
	const char *names, *help;
	void (*run)(struct screen *s); /* or */
	void (*run_by)(struct screen *s, long by);
	long by;
};
#define F(n) (KEY_FUNCTION + (n))

/* clang-format off */
static const struct binding bindings[] = {
	{ { F(1), 'h', '?' }, "F1 h ?", "this page", .run = show_help },
	{ { F(2), 'x' }, "F2 x", "trace the system calls of the process", .run = screen_trace },
	{ { F(3), '/' }, "F3 / n", "find, find the next", .run_by = begin_typing, .by = TOP_SEARCH },
	{ { 'n' }, .run = find_next },
	{ { F(4), '\\' }, "F4 \\", "show only rows with a text; Esc shows all", .run_by = begin_typing, .by = TOP_FILTER },
	{ { KEY_ESCAPE }, .run = show_all },
	{ { F(5), 'r' }, "F5 r", "report of the job", .run = show_report },
	{ { F(6), 's', '<', '>' }, "F6 s", "sort; P M I A N: by CPU, memory, I/O, age, pid; R reverses", .run = choose_order },
	{ { 'R' }, .run = reverse },
	{ { F(9), 'K' }, "F9 K", "end the marked or selected processes, after a question", .run = screen_ask_kill },
	{ { F(10), 'q', CTRL('c') }, "F10 q", "quit", .run = quit },
	{ { CTRL('z') }, .run = screen_suspend },
	{ { CTRL('l') }, .run = redraw },
	{ { 'w' }, "w", "why the job failed, or what it waits for", .run = show_why },
	{ { 'z' }, "z", "pause", .run = pause_or_not },
	{ { KEY_GO_UP, 'k' }, "arrows k j PgUp PgDn Home End   ", "move", .run_by = move, .by = -1 },
	{ { KEY_GO_DOWN, 'j' }, .run_by = move, .by = 1 },
	{ { KEY_WHEEL_UP }, .run_by = move, .by = -3 },
	{ { KEY_WHEEL_DOWN }, .run_by = move, .by = 3 },
	{ { KEY_PAGE_UP, CTRL('b') }, .run_by = move_pages, .by = -1 },
	{ { KEY_PAGE_DOWN, CTRL('f') }, .run_by = move_pages, .by = 1 },
	{ { KEY_TO_START }, .run_by = move_to_end, .by = -1 },
	{ { KEY_TO_END, 'G' }, .run_by = move_to_end, .by = 1 },
	{ { KEY_ACCEPT }, "Enter + -", "open or close a row", .run_by = fold, .by = FOLD_TOGGLE },
	{ { '+' }, .run_by = fold, .by = FOLD_OPEN },
	{ { '-' }, .run_by = fold, .by = FOLD_CLOSE },
	{ { ' ' }, "Space U", "mark a process, unmark all", .run = mark },
	{ { 'U' }, .run = unmark_all },
	{ { 0 }, "mouse", "select, open, scroll; click the head of a column to sort" },
	{ { 't', KEY_GO_LEFT }, .run = enter_past },
	{ { 'g' }, .run_by = begin_typing, .by = TOP_GOTO },
};

/* In the past, before those. */
static const struct binding past_bindings[] = {
	{ { 't' }, "t", "to the past and back; proctor top --history 1h begins there", .run = screen_leave_past },
	{ { KEY_GO_LEFT, ',' }, "Left Right", "one sample back, ahead; [ ] ten", .run_by = screen_step, .by = -1 },
	{ { KEY_GO_RIGHT, '.' }, .run_by = screen_step, .by = 1 },
	{ { '[' }, .run_by = screen_step, .by = -10 },
	{ { ']' }, .run_by = screen_step, .by = 10 },
	{ { 'p' }, "p P", "to the peak of memory, of CPU", .run_by = go_to_peak, .by = false },
	{ { 'P' }, .run_by = go_to_peak, .by = true },
	{ { 'n' }, "n N", "to the next, previous anomaly or death", .run_by = go_to_trouble, .by = false },
	{ { 'N' }, .run_by = go_to_trouble, .by = true },
	{ { 0 }, "g", "to a time: 14:03, 10m ago, yesterday 14:00" },
	{ { KEY_ESCAPE }, "Esc", "back to now", .run = screen_leave_past },
};
/* clang-format on */

static void put_lines(struct buf *to, const struct binding *list, size_t n)
{
	for (const struct binding *b = list; b < list + n; b++)
		if (b->names)
			buf_printf(to, "  %-18s %s\n", b->names, b->help);
}

static void show_help(struct screen *s)
{
	struct buf *page = &s->state.page;

	buf_reset(page);
	buf_puts(page,
	         "Jobs come first, each with the step it is in and its processes; then what is\n"
	         "in no job. CPU% is of one core. MEM of a job is what it uses, of a process RSS.\n"
	         "! something is wrong with it    * marked\n\n");
	put_lines(page, bindings, ARRAY_LEN(bindings));
	buf_puts(page, "\nTime travel: the same screen over what was recorded, while "
	               "recording goes on.\n");
	put_lines(page, past_bindings, ARRAY_LEN(past_bindings));
	snprintf(s->state.page_title, sizeof s->state.page_title, "proctor top: keys");
	s->state.mode = TOP_READING;
	s->state.menu = 0;
}

/* Whether it has one of the keys. */
static bool run_binding(struct screen *s, int key, const struct binding *list, size_t n)
{
	for (const struct binding *b = list; b < list + n; b++)
		for (size_t i = 0; i < ARRAY_LEN(b->keys) && b->keys[i]; i++) {
			if (b->keys[i] != key)
				continue;
			if (b->run)
				b->run(s);
			else
				b->run_by(s, b->by);
			return true;
		}
	return false;
}

void screen_key(struct screen *s, struct terminal_event e)
{
	uint64_t selected;

	switch (s->state.mode) {
	case TOP_FILTER:
	case TOP_SEARCH:
	case TOP_GOTO:
		type_key(s, e.key);
		return;
	case TOP_READING:
		page_key(s, e.key);
		return;
	case TOP_SORTING:
		sort_key(s, e.key);
		return;
	case TOP_KILLING:
		kill_key(s, e.key);
		return;
	case TOP_NORMAL:
	default:
		break;
	}
	selected = s->state.selected;
	if (e.key == KEY_CLICK)
		click(s, e);
	else if (!(s->state.is_past &&
	           run_binding(s, e.key, past_bindings, ARRAY_LEN(past_bindings))) &&
	         !sort_letter(s, e.key))
		(void)run_binding(s, e.key, bindings, ARRAY_LEN(bindings));
	if (s->state.is_past && s->state.selected != selected)
		past_trail_of_row(&s->past, &s->frame, &s->state);
}
