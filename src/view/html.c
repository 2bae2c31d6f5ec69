/* SPDX-License-Identifier: MIT */
#include "view/html.h"

#include "base/text.h"

static const char *entity_of(char c)
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void html_put_text(struct buf *to, const char *text, size_t n)
{
	for (size_t i = 0, len; i < n; i += len) {
		const char *entity = entity_of(text[i]);

		len = text_utf8_len(text + i, n - i);
		if (entity)
			buf_puts(to, entity);
		else if (len)
			buf_put(to, text + i, len);
		else
			buf_puts(to, "\xef\xbf\xbd");
		len = len ? len : 1;
	}
}

/* These three stand in JSON only within strings. */
void html_put_json(struct buf *to, const char *json, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (json[i] == '<' || json[i] == '>' || json[i] == '&')
			buf_printf(to, "\\u%04x", (unsigned)json[i]);
		else
			buf_putc(to, json[i]);
}
