/* SPDX-License-Identifier: MIT */
/* terminal.h - the terminal while `proctor top` has it: ncurses as a back end of the canvas, keys, and that it is given back
 * however the program ends. */
#pragma once

#include "base/err.h"
#include "view/canvas.h"

struct terminal {
	int line, column; /* where the canvas is */
	bool unicode, color;
};

/* Keys beyond characters. */
enum terminal_key {
	KEY_NOTHING = -1,
	KEY_RESIZED = 0x10000,
	KEY_GO_UP, KEY_GO_DOWN, KEY_GO_LEFT, KEY_GO_RIGHT, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_TO_START, KEY_TO_END,
	KEY_ACCEPT, KEY_ESCAPE, KEY_ERASE, KEY_TAB, KEY_CLICK, KEY_WHEEL_UP, KEY_WHEEL_DOWN,
	KEY_FUNCTION, /* + 1 … 12 */
};

struct terminal_event {
	int key; /* a character, or one of the above */
	int x, y; /* of the mouse */
};

int terminal_open(struct terminal *t, bool unicode, bool color, struct err *err) must_check;
void terminal_close(struct terminal *t);
/* Give the terminal to another program, or to the shell after SIGTSTP, and take it back. */
void terminal_leave(struct terminal *t);
void terminal_return(struct terminal *t);
void terminal_size(size_t *ret_width, size_t *ret_height);
/* A canvas that draws onto the terminal, from the top. */
struct canvas terminal_canvas(struct terminal *t);
void terminal_show(struct terminal *t); /* what was put since */
/* The next key; KEY_NOTHING: none waits. */
struct terminal_event terminal_read(void);
