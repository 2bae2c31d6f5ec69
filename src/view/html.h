/* SPDX-License-Identifier: MIT */
/* html.h - text in a page: as text, and as JSON in a script element. */
#pragma once

#include "base/buf.h"

/* Escaped for elements and for attributes in double quotes. Bytes that are no UTF-8 become U+FFFD. */
void html_put_text(struct buf *to, const char *text, size_t n);
/* JSON for a <script type="application/json">: nothing in it can end the element or begin a comment, and it is
 * the same JSON. */
void html_put_json(struct buf *to, const char *json, size_t n);
