/* SPDX-License-Identifier: MIT */
#include "top/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define NCURSES_WIDECHAR 1
/* curses.h would name a function that is banned here. */
#define GCC_SCANFLIKE(fmt, var)
#include <curses.h>

#include "base/text.h"

/* For the handler of deadly signals only, which can reach nothing else. */
static struct termios before;
static volatile sig_atomic_t is_taken;
static int attributes[INK_COUNT];

/* Leaves the alternate screen, shows the cursor, ends the mouse's reports and colours. */
static const char restore[] =
	"\x1b[?1000l\x1b[?1002l\x1b[?1006l\x1b[?1049l\x1b[?25h\x1b[0m\x1b[?1l\x1b>";

static void on_deadly(int signo)
{
	if (is_taken) {
		is_taken = 0;
		(void)!write(STDOUT_FILENO, restore, sizeof restore - 1);
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	}
	signal(signo, SIG_DFL);
	raise(signo);
}

static void catch_deadly(void)
{
	static const int deadly[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP };
	struct sigaction action = { .sa_handler = on_deadly,
		                    .sa_flags = (int)SA_RESETHAND | SA_NODEFER };

	for (size_t i = 0; i < ARRAY_LEN(deadly); i++)
		sigaction(deadly[i], &action, NULL);
}

/* Readable on light and dark: the terminal's own colours, and of the eight those that both show. */
static void choose_attributes(bool color)
{
	/* Good, warning, bad, label. We do not know the background; those of 256 can be read on white and on black, which
	 * yellow cannot. */
	static const struct {
		short of_8, of_256;
	} colors[] = {
		{ COLOR_GREEN, 28 }, { COLOR_YELLOW, 130 }, { COLOR_RED, 160 }, { COLOR_CYAN, 31 }
	};
	bool has_colors_here = color && has_colors();

	attributes[INK_PLAIN] = A_NORMAL;
	attributes[INK_TITLE] = attributes[INK_STRONG] = A_BOLD;
	attributes[INK_LABEL] = attributes[INK_QUALITY] = A_NORMAL;
	attributes[INK_QUIET] = A_DIM;
	attributes[INK_GOOD] = A_NORMAL;
	attributes[INK_WARN] = A_BOLD;
	attributes[INK_BAD] = A_BOLD;
	attributes[INK_SELECTED] = A_REVERSE;
	if (!has_colors_here)
		return;
	start_color();
	use_default_colors();
	for (short i = 0; i < (short)ARRAY_LEN(colors); i++)
		init_pair((short)(i + 1), COLORS >= 256 ? colors[i].of_256 : colors[i].of_8, -1);
	attributes[INK_GOOD] = COLOR_PAIR(1);
	attributes[INK_WARN] = COLOR_PAIR(2) | (int)A_BOLD;
	attributes[INK_BAD] = COLOR_PAIR(3) | (int)A_BOLD;
	attributes[INK_LABEL] = attributes[INK_QUALITY] = COLOR_PAIR(4);
}

static void set_up(void)
{
	raw(); /* Ctrl-C, Ctrl-Z and Ctrl-\ are keys of ours */
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	set_escdelay(50);
	mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
}

/* NULL: the terminal is not known, or cannot place text (TERM=dumb). */
static SCREEN *open_screen(void)
{
	SCREEN *screen = newterm(NULL, stdout, stdin);
	const char *move = screen ? tigetstr("cup") : NULL;

	if (!screen || (move && move != (const char *)-1))
		return screen;
	endwin();
	delscreen(screen);
	return NULL;
}

int terminal_open(struct terminal *t, bool unicode, bool color, struct err *err)
{
	const char *term = getenv("TERM");
	SCREEN *screen;

	*t = (struct terminal){ .unicode = unicode && strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		                .color = color };
	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return err_set(err, errno, "the terminal: %s", strerror(errno));
	screen = open_screen();
	if (!screen)
		return err_set(
			err, ENODEV,
			"the terminal type '%.60s' is not known or cannot place text: set TERM, or use --once",
			term ? term : "");
	set_term(screen);
	is_taken = 1;
	catch_deadly();
	choose_attributes(color);
	set_up();
	return 0;
}

void terminal_close(struct terminal *t)
{
	if (!is_taken)
		return;
	terminal_leave(t);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

void terminal_leave(struct terminal *t)
{
	(void)t;
	mousemask(0, NULL);
	curs_set(1);
	endwin();
	is_taken = 0;
}

void terminal_return(struct terminal *t)
{
	(void)t;
	is_taken = 1;
	refresh();
	set_up();
	clearok(stdscr, TRUE);
}

void terminal_size(size_t *ret_width, size_t *ret_height)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row)
		if (size.ws_col != COLS || size.ws_row != LINES)
			resizeterm(size.ws_row, size.ws_col);
	*ret_width = COLS > 0 ? (size_t)COLS : 1;
	*ret_height = LINES > 0 ? (size_t)LINES : 1;
}

/* ---- the canvas ------------------------------------------------------------------------------ */

/* A terminal that does not take UTF-8 gets a sign for what it cannot show. */
static void put_ascii(const char *text, size_t n)
{
	while (n) {
		size_t len = text_utf8_len(text, n);

		addch(len == 1 ? (chtype)*text : (chtype)'?');
		len = len ? len : 1;
		text += len;
		n -= len;
	}
}

static void put(void *self, enum ink ink, const char *text, size_t n)
{
	struct terminal *t = self;

	if (n == 1 && *text == '\n') {
		if (getcurx(stdscr) < COLS && getcury(stdscr) == t->line)
			clrtoeol();
		t->line++;
		move(t->line, 0);
		return;
	}
	if (t->line >= LINES)
		return;
	attrset(attributes[ink]);
	if (t->unicode)
		addnstr(text, (int)n);
	else
		put_ascii(text, n);
	attrset(A_NORMAL);
}

static const struct canvas_backend on_terminal = { .put = put };

struct canvas terminal_canvas(struct terminal *t)
{
	t->line = 0;
	erase();
	move(0, 0);
	return (struct canvas){ .backend = &on_terminal,
		                .self = t,
		                .width = (size_t)MAX(COLS, 1),
		                .unicode = t->unicode };
}

void terminal_show(struct terminal *t)
{
	(void)t;
	refresh();
}

/* ---- keys ------------------------------------------------------------------------------------ */

static struct terminal_event read_mouse(void)
{
	struct terminal_event e = { .key = KEY_NOTHING };
	MEVENT m;

	if (getmouse(&m) != OK)
		return e;
	e.x = m.x;
	e.y = m.y;
	if (m.bstate & BUTTON4_PRESSED)
		e.key = KEY_WHEEL_UP;
	else if (m.bstate & BUTTON5_PRESSED)
		e.key = KEY_WHEEL_DOWN;
	else
		e.key = KEY_CLICK;
	return e;
}

struct terminal_event terminal_read(void)
{
	static const struct {
		int from, to;
	} keys[] = {
		{ KEY_UP, KEY_GO_UP },
		{ KEY_DOWN, KEY_GO_DOWN },
		{ KEY_LEFT, KEY_GO_LEFT },
		{ KEY_RIGHT, KEY_GO_RIGHT },
		{ KEY_PPAGE, KEY_PAGE_UP },
		{ KEY_NPAGE, KEY_PAGE_DOWN },
		{ KEY_HOME, KEY_TO_START },
		{ KEY_END, KEY_TO_END },
		{ KEY_ENTER, KEY_ACCEPT },
		{ '\r', KEY_ACCEPT },
		{ '\n', KEY_ACCEPT },
		{ 27, KEY_ESCAPE },
		{ KEY_BACKSPACE, KEY_ERASE },
		{ 127, KEY_ERASE },
		{ 8, KEY_ERASE },
		{ '\t', KEY_TAB },
		{ KEY_RESIZE, KEY_RESIZED },
	};
	int key = getch();

	if (key == ERR)
		return (struct terminal_event){ .key = KEY_NOTHING };
	if (key == KEY_MOUSE)
		return read_mouse();
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (keys[i].from == key)
			return (struct terminal_event){ .key = keys[i].to };
	for (int i = 1; i <= 12; i++)
		if (key == KEY_F(i))
			return (struct terminal_event){ .key = KEY_FUNCTION + i };
	return (struct terminal_event){ .key = key < 0x100 ? key : KEY_NOTHING };
}
