/* SPDX-License-Identifier: MIT */
#include "model/tags.h"

#include "base/json_read.h"

bool tags_next(struct scan *at, struct buf *key, struct buf *value)
{
	struct scan name, text;

	key->max = value->max = TAG_TEXT_MAX;
	if (!json_read_next(at, &name, &text) || *text.p != '"')
		return false;
	text = scan_mem(text.p + 1, scan_left(&text) - 2); /* without its quotes */
	return json_read_text(name, key) && json_read_text(text, value);
}
