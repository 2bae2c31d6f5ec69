/* SPDX-License-Identifier: MIT */
#include "view/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/table.h"

static void plain_put(void *self, enum ink ink, const char *text, size_t n)
{
	(void)ink;
	buf_put(self, text, n);
}

static void ansi_put(void *self, enum ink ink, const char *text, size_t n)
{
	static const char *const codes[] = {
		[INK_PLAIN] = "",        [INK_TITLE] = "\x1b[1m",   [INK_STRONG] = "\x1b[1m",
		[INK_LABEL] = "\x1b[2m", [INK_QUALITY] = "\x1b[2m", [INK_QUIET] = "\x1b[2m",
		[INK_GOOD] = "\x1b[32m", [INK_WARN] = "\x1b[33m",   [INK_BAD] = "\x1b[31m",
		[INK_SELECTED] = "\x1b[7m",
	};

	buf_puts(self, codes[ink]);
	buf_put(self, text, n);
	if (ink != INK_PLAIN)
		buf_puts(self, "\x1b[0m");
}

const struct canvas_backend canvas_plain = { .put = plain_put };
const struct canvas_backend canvas_ansi = { .put = ansi_put };

static void pay(struct canvas *c)
{
	static const char blanks[] = "                                ";

	while (c->owed) {
		size_t n = MIN(c->owed, sizeof blanks - 1);

		c->backend->put(c->self, INK_PLAIN, blanks, n);
		c->owed -= n;
	}
}

static void putn(struct canvas *c, enum ink ink, const char *text, size_t n)
{
	if (!n)
		return;
	pay(c);
	c->backend->put(c->self, ink, text, n);
}

void canvas_put(struct canvas *c, enum ink ink, const char *text)
{
	putn(c, ink, text, strlen(text));
}

void canvas_printf(struct canvas *c, enum ink ink, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	canvas_put(c, ink, text);
}

size_t canvas_text(struct canvas *c, enum ink ink, const char *text, size_t n, size_t columns)
{
	struct buf safe = { 0 };
	size_t used;

	text_display(&safe, text, n, columns);
	used = text_columns(safe.at ? safe.at : "", safe.len);
	putn(c, ink, safe.at, safe.len);
	buf_done(&safe);
	return used;
}

void canvas_pad(struct canvas *c, size_t columns)
{
	c->owed += columns;
}

void canvas_newline(struct canvas *c)
{
	c->owed = 0;
	c->backend->put(c->self, INK_PLAIN, "\n", 1);
}

void canvas_title(struct canvas *c, const char *title)
{
	canvas_newline(c);
	canvas_put(c, INK_TITLE, title);
	canvas_newline(c);
}
