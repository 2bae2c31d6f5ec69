/* SPDX-License-Identifier: MIT */
#include "model/redaction.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/scan.h"
#include "base/text.h"
#include "model/redaction_rules.h"

#define MASK "***"

struct redactor {
	char *to;
	size_t len, cap;
	bool is_cut;     /* something did not fit */
	struct scan arg; /* what is left of the current argument */
	const char *arg_start;
	bool is_script;      /* a shell script, or a process title: blanks separate words */
	char quote;          /* the quote that is open in a script; 0: none */
	bool in_query;       /* within the query of a URL */
	bool mask_next;      /* the next word or argument is a secret */
	struct scan program; /* the last word that is a program whose options we know */
};

static void append(struct redactor *r, const char *text, size_t n)
{
	r->is_cut |= n > r->cap - r->len;
	n = MIN(n, r->cap - r->len);
	memcpy(r->to + r->len, text, n);
	r->len += n;
}

/* Copies n bytes of the argument. */
static void copy(struct redactor *r, size_t n)
{
	append(r, r->arg.p, n);
	r->arg.p += n;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

/* The end of the value that begins here. Blanks end it only in a script; elsewhere they are part of
 * the argument. */
static const char *value_end(const struct redactor *r, bool may_have_blanks)
{
	const char *p = r->arg.p;

	for (; p < r->arg.end; p++) {
		if (r->quote && *p == r->quote)
			break;
		if (r->in_query && (*p == '&' || *p == '#' || is_blank(*p) || is_quote(*p)))
			break;
		if (r->is_script && !r->quote && !may_have_blanks && is_blank(*p))
			break;
		if (*p == '\\' && p + 1 < r->arg.end)
			p++;
	}
	return p;
}

static void mask_quoted(struct redactor *r)
{
	char q = *r->arg.p;
	const char *p = r->arg.p + 1;

	while (p < r->arg.end && *p != q)
		p += *p == '\\' && p + 1 < r->arg.end ? 2 : 1;
	append(r, &q, 1);
	append(r, MASK, strlen(MASK));
	if (p < r->arg.end)
		append(r, &q, 1);
	r->arg.p = p < r->arg.end ? p + 1 : r->arg.end;
}

static void mask_value(struct redactor *r, bool may_have_blanks)
{
	const char *end;

	if (!scan_at_end(&r->arg) && is_quote(*r->arg.p) && *r->arg.p != r->quote) {
		mask_quoted(r);
		return;
	}
	end = value_end(r, may_have_blanks);
	if (end > r->arg.p)
		append(r, MASK, strlen(MASK));
	r->arg.p = end;
}

/* https://user:password@host/: a user without a password is often a token, so everything before the
 * '@' is masked. Passwords may contain '/' and '@'; a "port" that is not a number reveals that. */
static void redact_userinfo(struct redactor *r)
{
	const char *p, *at = NULL, *last_at = NULL, *authority = NULL, *colon = NULL;

	for (p = r->arg.p; p < r->arg.end && !is_blank(*p) && !is_quote(*p); p++) {
		if (*p == '@')
			last_at = p;
		if (*p == '@' && !authority)
			at = p;
		if (*p == ':' && !authority)
			colon = p;
		if ((*p == '/' || *p == '?' || *p == '#') && !authority)
			authority = p;
	}
	if (!at && last_at && colon && authority && colon + 1 < authority &&
	    (colon[1] < '0' || colon[1] > '9'))
		at = last_at;
	if (!at)
		return;
	append(r, MASK, strlen(MASK));
	r->arg.p = at;
}

/* Copies a run of name characters, except credentials in it that are recognised by their shape. */
static void copy_run(struct redactor *r, const char *end)
{
	bool at_boundary = true;

	while (r->arg.p < end) {
		size_t n = at_boundary ? redaction_rule_shape_len(r->arg) : 0;

		if (n) {
			append(r, MASK, strlen(MASK));
			r->arg.p += n;
			continue;
		}
		at_boundary = *r->arg.p == '-' || *r->arg.p == '_' || *r->arg.p == '.';
		copy(r, 1);
	}
}

static bool is_word_end(const struct redactor *r, const char *p)
{
	return p >= r->arg.end || is_blank(*p) || (r->quote && *p == r->quote);
}

/* The text after the '=' or ':' that follows a quoted or unquoted name; NULL if there is none. */
static const char *find_separator(const struct redactor *r, struct scan name)
{
	const char *p = name.end, *end = r->arg.end;

	while (p < end && (is_quote(*p) || *p == '\\') && p - name.end < 2)
		p++;
	while (p > name.end && p < end && *p == ' ') /* "key" : "value" */
		p++;
	if (p == end || (*p != '=' && *p != ':'))
		return NULL;
	return end - p > 2 && memcmp(p, "://", 3) == 0 ? NULL : p + 1;
}

/* key=value, "key": "value", Header: value */
static bool redact_pair(struct redactor *r, struct scan name)
{
	const char *value = find_separator(r, name);
	bool is_header;

	if (!value)
		return false;
	is_header = redaction_rule_is_header(name);
	if (!is_header && !redaction_rule_is_name(name))
		return false;
	while (value[-1] == ':' && value < r->arg.end && (*value == ' ' || *value == '\t'))
		value++;
	copy(r, (size_t)(value - r->arg.p));
	mask_value(r, is_header);
	return true;
}

/* --password VALUE, Bearer VALUE, curl -u VALUE, mysql -pVALUE */
static bool redact_option(struct redactor *r, struct scan name)
{
	bool attached_only = false, is_alone = is_word_end(r, name.end);
	size_t n = r->program.p ? redaction_rule_option_len(r->program,
	                                                    (struct scan){ name.p, r->arg.end },
	                                                    &attached_only)
	                        : 0;

	if (n && !is_word_end(r, name.p + n)) {
		copy(r, n);
		if (!scan_at_end(&r->arg) && *r->arg.p == '=')
			copy(r, 1);
		mask_value(r, false);
		return true;
	}
	if (is_alone && *name.p == '-' && redaction_rule_is_name(name))
		r->mask_next = true;
	else if (is_alone && n && !attached_only)
		r->mask_next = true;
	else if (is_alone && scan_left(&name) == 6 && strncasecmp(name.p, "bearer", 6) == 0)
		r->mask_next = true;
	if (r->mask_next)
		copy(r, scan_left(&name));
	return r->mask_next;
}

/* A run of name characters: a key, an option, a program, a credential, or just a word. */
static void redact_run(struct redactor *r)
{
	struct scan name = { r->arg.p, r->arg.p };
	bool is_word_start = r->arg.p == r->arg_start || is_blank(r->arg.p[-1]) ||
	                     is_quote(r->arg.p[-1]);

	while (name.end < r->arg.end && is_name_char(*name.end))
		name.end++;
	if (redact_pair(r, name) || (is_word_start && redact_option(r, name)))
		return;
	if (is_word_end(r, name.end) && redaction_rule_knows_program(name))
		r->program = name;
	copy_run(r, name.end);
}

static void redact_other(struct redactor *r)
{
	char c = *r->arg.p;

	if (c == '\\' && r->arg.end - r->arg.p > 1 && is_quote(r->arg.p[1])) {
		copy(r, 2); /* an escaped quote neither opens nor closes a string */
		return;
	}
	if (is_blank(c))
		r->in_query = false;
	if (c == '?')
		r->in_query = true;
	if (r->is_script && is_quote(c))
		r->quote = !r->quote ? c : r->quote == c ? '\0' : r->quote;
	if (scan_lit(&(struct scan){ r->arg.p, r->arg.end }, "://")) {
		copy(r, 3);
		redact_userinfo(r);
		return;
	}
	copy(r, 1);
}

static bool looks_like_option(struct scan arg)
{
	return scan_left(&arg) > 1 && arg.p[0] == '-' &&
	       (arg.p[1] == '-' || (arg.p[1] >= 'a' && arg.p[1] <= 'z'));
}

static void redact_arg(struct redactor *r)
{
	r->arg_start = r->arg.p;
	r->quote = '\0';
	r->in_query = false;
	if (r->mask_next && !looks_like_option(r->arg)) {
		append(r, MASK, strlen(MASK));
		r->arg.p = r->arg.end;
	}
	r->mask_next = false;
	while (!scan_at_end(&r->arg) && r->len < r->cap) {
		if (r->mask_next && !is_blank(*r->arg.p)) {
			r->mask_next = false;
			mask_value(r, false);
		} else if (is_name_char(*r->arg.p)) {
			redact_run(r);
		} else {
			redact_other(r);
		}
	}
}

/* sh -c TEXT, bash -lc TEXT */
static bool announces_script(struct scan arg)
{
	return scan_left(&arg) >= 2 && scan_left(&arg) <= 5 && arg.p[0] == '-' &&
	       arg.end[-1] == 'c';
}

/* The last argument may lack its NUL: the text was cut, or the process overwrote its arguments. */
static bool next_arg(struct scan *all, struct scan *ret)
{
	if (scan_at_end(all))
		return false;
	if (!scan_until(all, '\0', ret)) {
		*ret = *all;
		all->p = all->end;
	}
	return true;
}

static bool has_words(struct scan s)
{
	while (!scan_at_end(&s) && (is_blank(*s.p) || !*s.p))
		s.p++;
	return !scan_at_end(&s);
}

size_t redact_command(const char *raw, size_t len, char *to, size_t cap)
{
	struct redactor r = { .to = to, .cap = cap };
	struct scan all = scan_mem(raw, len), arg;
	bool is_script;

	while (len && raw[len - 1] == '\0')
		all.end = raw + --len;
	/* A single argument may be a title that the process wrote over its arguments. */
	is_script = len && !memchr(raw, '\0', len);
	while (r.len < cap && next_arg(&all, &arg)) {
		if (arg.p != raw)
			append(&r, " ", 1);
		r.arg = arg;
		r.is_script = is_script;
		redact_arg(&r);
		is_script = announces_script(arg);
	}
	r.is_cut |= has_words(r.arg) || has_words(all);
	while (r.len && is_blank(to[r.len - 1]))
		r.len--;
	return r.is_cut ? text_mark_cut(to, r.len, cap) : r.len;
}

void redact_text(const char *text, struct buf *to)
{
	size_t len = strlen(text), cap = len * strlen(MASK); /* the mask may be the longer one */
	cleanup(freep) char *safe = xmalloc(cap + 1);

	buf_put(to, safe, redact_command(text, len, safe, cap));
}

void redact_value(const char *key, const char *text, struct buf *to)
{
	if (*text && *key && redaction_rule_is_name(scan_str(key)))
		buf_puts(to, MASK);
	else
		redact_text(text, to);
}
