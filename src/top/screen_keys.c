/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/time_parse.h"
#include "top/screen_inside.h"

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

static void begin_typing(struct screen *s, enum top_mode mode, const char *text)
{
	s->state.mode = mode;
	snprintf(s->state.input, sizeof s->state.input, "%s", text);
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

static void sort_by(struct screen *s, enum top_sort sort)
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
		if (key == KEY_ACCEPT && t->sort != (enum top_sort)t->menu)
			sort_by(s, (enum top_sort)t->menu);
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

static bool move_key(struct screen *s, int key)
{
	struct top_state *t = &s->state;
	long page = (long)MAX(s->layout.rows_n, (size_t)2) - 1;

	switch (key) {
	case KEY_GO_UP:
	case 'k':
		top_state_move(t, -1);
		return true;
	case KEY_GO_DOWN:
	case 'j':
		top_state_move(t, 1);
		return true;
	case KEY_WHEEL_UP:
		top_state_move(t, -3);
		return true;
	case KEY_WHEEL_DOWN:
		top_state_move(t, 3);
		return true;
	case KEY_PAGE_UP:
	case CTRL('b'):
		top_state_move(t, -page);
		return true;
	case KEY_PAGE_DOWN:
	case CTRL('f'):
		top_state_move(t, page);
		return true;
	case KEY_TO_START:
		top_state_move(t, -(long)t->rows.len);
		return true;
	case KEY_TO_END:
	case 'G':
		top_state_move(t, (long)t->rows.len);
		return true;
	default:
		return false;
	}
}

/* The row itself, or the one that it is in. */
static void fold(struct screen *s, int key)
{
	const struct top_row *row = top_state_row(&s->state);

	if (!row)
		return;
	if (key == '+' && row->is_open)
		return;
	if (!row->has_children && key != '+')
		while (s->state.at && s->state.rows.at[s->state.at].depth >= row->depth && row->depth)
			top_state_move(&s->state, -1);
	row = top_state_row(&s->state);
	if (row->has_children && !(key == '-' && !row->is_open)) {
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
		fold(s, KEY_ACCEPT);
	else
		top_state_move(&s->state, (long)row - (long)s->state.at);
}

static bool sort_letter(struct screen *s, int key)
{
#define X(id, name, letter) { letter, TOP_SORT_##id },
	static const struct {
		int key;
		enum top_sort sort;
	} letters[] = { TOP_SORTS(X) };
#undef X

	for (size_t i = 0; i < ARRAY_LEN(letters); i++)
		if (letters[i].key == key) {
			sort_by(s, letters[i].sort);
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

static bool past_key(struct screen *s, int key)
{
	switch (key) {
	case KEY_GO_LEFT:
	case ',':
		screen_step(s, -1);
		return true;
	case KEY_GO_RIGHT:
	case '.':
		screen_step(s, 1);
		return true;
	case '[':
		screen_step(s, -10);
		return true;
	case ']':
		screen_step(s, 10);
		return true;
	case 'p':
	case 'P':
		go(s, past_peak(&s->past, key == 'P'), "no peak is known");
		return true;
	case 'n':
	case 'N':
		go(s, past_trouble(&s->past, key == 'N'),
		   key == 'n' ? "no anomaly and no death after this" : "no anomaly and no death before this");
		return true;
	case 't':
	case KEY_ESCAPE:
		screen_leave_past(s);
		return true;
	default:
		return false;
	}
}

/* ---- all ------------------------------------------------------------------------------------- */

static void pause_or_not(struct screen *s)
{
	s->state.is_paused = !s->state.is_paused;
	s->is_dirty = true;
}

static void begin_mode(struct screen *s, enum top_mode mode, size_t menu)
{
	s->state.mode = mode;
	s->state.menu = menu;
}

static void action_key(struct screen *s, int key)
{
	switch (key) {
	case 'q':
	case CTRL('c'):
	case KEY_FUNCTION + 10:
		s->quits = true;
		break;
	case CTRL('z'):
		screen_suspend(s);
		break;
	case 'h':
	case '?':
	case KEY_FUNCTION + 1:
		begin_mode(s, TOP_HELP, 0);
		break;
	case '/':
	case KEY_FUNCTION + 3:
		begin_typing(s, TOP_SEARCH, "");
		break;
	case '\\':
	case KEY_FUNCTION + 4:
		begin_typing(s, TOP_FILTER, s->state.filter);
		break;
	case 's':
	case '<':
	case '>':
	case KEY_FUNCTION + 6:
		begin_mode(s, TOP_SORTING, s->state.sort);
		break;
	case 'R':
		sort_by(s, s->state.sort);
		break;
	case KEY_ACCEPT:
	case '+':
	case '-':
		fold(s, key);
		break;
	case ' ':
		mark(s);
		break;
	case 'U':
		map_reset(&s->state.marked);
		break;
	case 'K':
	case KEY_FUNCTION + 9:
		screen_ask_kill(s);
		break;
	case 'x':
	case KEY_FUNCTION + 2:
		screen_trace(s);
		break;
	case 'w':
		screen_read(s, "why");
		break;
	case 'r':
	case KEY_FUNCTION + 5:
		screen_read(s, "report");
		break;
	case 'z':
		pause_or_not(s);
		break;
	case 't':
	case KEY_GO_LEFT:
		(void)screen_enter_past(s, HISTORY_DEFAULT_NS);
		break;
	case 'g':
		begin_typing(s, TOP_GOTO, "");
		break;
	case 'n':
		find(s, false);
		break;
	case KEY_ESCAPE:
		s->state.filter[0] = s->state.message[0] = '\0';
		screen_arrange(s);
		break;
	case CTRL('l'):
		terminal_return(&s->terminal);
		break;
	default:
		break;
	}
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
	case TOP_HELP:
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
	else if (!(s->state.is_past && past_key(s, e.key)) && !move_key(s, e.key) &&
	         !sort_letter(s, e.key))
		action_key(s, e.key);
	if (s->state.is_past && s->state.selected != selected)
		past_trail_of_row(&s->past, &s->frame, &s->state);
}
