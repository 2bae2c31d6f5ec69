/* SPDX-License-Identifier: MIT */
#include "model/redact.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/scan.h"
#include "base/text.h"
#include "model/secret_table.h"

#define MASK "***"

static bool is_name_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-' || c == '.';
}

/* Whether it is a header whose value may contain blanks. */
static bool is_header(struct scan name)
{
	static const char *const endings[] = { "authorization", "cookie" };

	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		size_t len = strlen(endings[i]);

		if (scan_left(&name) >= len && strncasecmp(name.end - len, endings[i], len) == 0)
			return true;
	}
	return false;
}

/* A script as it is read from some place on. A place within quotes may begin a script, too, that of an inner
 * shell: "echo x | chpasswd". A quote changes what follows for every reading, and never two of them to the same;
 * so those from all places in an argument are only three, which are searched once each. */
struct reading {
	char quote;           /* the one that is open; 0: none */
	const char *end;      /* the last end of a command that was found; before it is none */
	bool is_piped_secret; /* what this command prints is read as a secret */
};

#define READINGS 3

struct redactor {
	char *to;
	size_t len, cap;
	bool is_cut;     /* something did not fit */
	struct scan arg; /* what is left of the current argument */
	const char *arg_start;
	bool is_script;        /* a shell script, or a process title: blanks separate words */
	char quote;            /* the quote that is open in a script; 0: none */
	bool in_query;         /* within the query of a URL */
	enum secret_name next; /* whether the next word or argument is a secret */
	struct scan program;   /* the last word that is a program whose options we know */
	struct scan command;   /* the same for arguments */
	bool in_settings;      /* after "config": aws configure set NAME VALUE */
	/* The arguments of `command` that are kept, and then the rest are secrets; NULL: none. */
	const struct secret_argument *arguments;
	unsigned kept_arguments;
	/* Results of searches in the current argument, so that none is repeated: an argument of many
	 * URLs or commands takes no longer than another one. */
	struct reading readings[READINGS];
	const char *readings_at; /* their quotes are those of this place */
	const char *url_end;     /* the last end of a URL that was found, … */
	const char *url_at;      /* … and the last '@' before it; NULL: none */
	const char *reader_end;  /* of the first reader of secrets; NULL: not searched for yet */
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

static bool is_separator(char c)
{
	return c == '|' || c == ';' || c == '&' || c == '\n';
}

/* The quote that is open after this byte. */
static char quote_after(char quote, char c)
{
	if (!is_quote(c))
		return quote;
	return !quote ? c : quote == c ? '\0' : quote;
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

/* The last '@' in the rest of the URL that r->arg.p is in; NULL: none. */
static const char *find_last_at(struct redactor *r)
{
	const char *p = r->arg.p;

	if (p > r->url_end) {
		r->url_at = NULL;
		for (; p < r->arg.end && !is_blank(*p) && !is_quote(*p); p++)
			if (*p == '@')
				r->url_at = p;
		r->url_end = p;
	}
	return r->url_at && r->url_at >= r->arg.p ? r->url_at : NULL;
}

static bool ends_authority(char c)
{
	return c == '/' || c == '?' || c == '#';
}

/* https://user:password@host/: a user without a password is often a token, so everything before the
 * '@' is masked. Passwords may contain '/' and '@'; a "port" that is not a number reveals that. */
static void redact_userinfo(struct redactor *r)
{
	const char *p, *at = NULL, *colon = NULL;

	for (p = r->arg.p; p < r->arg.end && !is_blank(*p) && !is_quote(*p); p++) {
		if (ends_authority(*p))
			break;
		if (*p == '@')
			at = p;
		if (*p == ':')
			colon = p;
	}
	if (!at && colon && p < r->arg.end && ends_authority(*p) && colon + 1 < p &&
	    (colon[1] < '0' || colon[1] > '9'))
		at = find_last_at(r);
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
		size_t n = at_boundary ? secret_shape_len(r->arg) : 0;

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

/* As much of the value as is needed to judge it: one that is cut is longer than SECRET_VALUE_MAX. */
static struct scan value_at(const struct redactor *r, const char *p)
{
	const size_t room = SECRET_VALUE_MAX + 2; /* with a quote before it */
	struct redactor at = *r;

	at.arg.p = p;
	if ((size_t)(at.arg.end - p) > room)
		at.arg.end = p + room;
	if (!scan_at_end(&at.arg) && is_quote(*at.arg.p) && *at.arg.p != r->quote) {
		const char *close = memchr(p + 1, *p, (size_t)(at.arg.end - p - 1));

		return (struct scan){ p + 1, close ? close : at.arg.end };
	}
	return (struct scan){ p, value_end(&at, false) };
}

static bool hides(enum secret_name meaning, struct scan value)
{
	return meaning == SECRET_NAME_YES ||
	       (meaning == SECRET_NAME_MAYBE && !secret_value_is_harmless(value));
}

/* PWD=/home/bob at the start of a word is the shell's variable, and no ODBC password. */
static bool is_working_directory(const struct redactor *r, struct scan name, struct scan value)
{
	return (scan_eq(&name, "PWD") || scan_eq(&name, "OLDPWD")) &&
	       (name.p == r->arg_start || is_blank(name.p[-1]) || is_quote(name.p[-1])) &&
	       !scan_at_end(&value) && *value.p == '/';
}

/* key=value, "key": "value", Header: value */
static bool redact_pair(struct redactor *r, struct scan name)
{
	const char *value = find_separator(r, name);
	enum secret_name meaning;
	bool may_have_blanks;

	if (!value)
		return false;
	may_have_blanks = is_header(name);
	meaning = may_have_blanks ? SECRET_NAME_YES : secret_name_meaning(name);
	/* "key" is an ordinary word, but not in the query of a URL. */
	if (r->in_query && scan_eq(&name, "key"))
		meaning = SECRET_NAME_YES;
	if (!meaning)
		return false;
	while (value[-1] == ':' && value < r->arg.end && (*value == ' ' || *value == '\t'))
		value++;
	if (!hides(meaning, value_at(r, value)) ||
	    is_working_directory(r, name, value_at(r, value)))
		return false;
	copy(r, (size_t)(value - r->arg.p));
	mask_value(r, may_have_blanks);
	return true;
}

/* Words after which a secret follows: --password VALUE, Bearer VALUE, config set api_key VALUE */
static enum secret_name next_by_name(const struct redactor *r, struct scan name)
{
	if (*name.p == '-' || r->in_settings)
		return secret_name_meaning(name);
	return scan_left(&name) == 6 && strncasecmp(name.p, "bearer", 6) == 0 ? SECRET_NAME_YES
	                                                                      : SECRET_NAME_NO;
}

/* --password VALUE, Bearer VALUE, curl -u VALUE, mysql -pVALUE */
static bool redact_option(struct redactor *r, struct scan name)
{
	bool attached_only = false, is_alone = is_word_end(r, name.end);
	struct scan word = { name.p, r->arg.end };
	size_t n = r->program.p ? secret_option_len(r->program, word, &attached_only) : 0;

	if (n && !is_word_end(r, name.p + n)) {
		copy(r, n);
		if (!scan_at_end(&r->arg) && *r->arg.p == '=')
			copy(r, 1);
		mask_value(r, false);
		return true;
	}
	if (is_alone)
		r->next = n && !attached_only ? SECRET_NAME_YES : next_by_name(r, name);
	if (r->next)
		copy(r, scan_left(&name));
	return r->next;
}

/* Remembers the words that give the following ones their meaning. */
static void note_word(struct redactor *r, struct scan word, bool is_word_start)
{
	const struct secret_argument *a = NULL;

	if (secret_option_has_program(word))
		r->program = word;
	if (is_word_start && r->command.p)
		a = secret_argument_after(r->command, word);
	if (a) {
		r->arguments = a;
		r->kept_arguments = a->kept;
	}
	if (secret_argument_has_program(word))
		r->command = word;
	if (is_word_start &&
	    (scan_eq(&word, "config") || scan_eq(&word, "configure") || scan_eq(&word, "CONFIG")))
		r->in_settings = true;
}

static bool is_word_start(const struct redactor *r)
{
	return r->arg.p == r->arg_start || is_blank(r->arg.p[-1]) || is_quote(r->arg.p[-1]);
}

/* A run of name characters: a key, an option, a program, a credential, or just a word. */
static void redact_run(struct redactor *r)
{
	struct scan name = { r->arg.p, r->arg.p };
	bool starts_word = is_word_start(r);

	while (name.end < r->arg.end && is_name_char(*name.end))
		name.end++;
	if (redact_pair(r, name) || ((starts_word || r->in_settings) && redact_option(r, name)))
		return;
	if (is_word_end(r, name.end))
		note_word(r, name, starts_word);
	copy_run(r, name.end);
}

/* The end of the first reader of secrets; NULL: there is none. */
static const char *find_secret_reader(const char *p, const char *end)
{
	const char *first = NULL;

	for (size_t i = 0; i < secret_stdin_readers_len; i++) {
		size_t len = strlen(secret_stdin_readers[i]);
		const char *at = memmem(p, (size_t)(end - p), secret_stdin_readers[i], len);

		if (at && (!first || at + len < first))
			first = at + len;
	}
	return first;
}

static const char *command_end(const char *p, const char *end)
{
	char quote = '\0';

	for (; p < end && (quote || !is_separator(*p)); p++)
		quote = quote_after(quote, *p);
	return p;
}

/* How the script reads from here on. */
static const struct reading *read_from(struct redactor *r, const char *p)
{
	const char *end = r->arg.end;
	struct reading *reading = r->readings;

	for (; r->readings_at < p; r->readings_at++)
		for (unsigned i = 0; i < READINGS; i++)
			r->readings[i].quote =
				quote_after(r->readings[i].quote, *r->readings_at);
	while (reading->quote)
		reading++;
	if (reading->end && p <= reading->end)
		return reading;
	reading->end = command_end(p, end);
	p = reading->end;
	reading->is_piped_secret = p < end && *p == '|' &&
	                           find_secret_reader(p, command_end(p + 1, end));
	return reading;
}

/* chpasswd <<< bob:SECRET */
static bool redact_here_string(struct redactor *r)
{
	struct scan s = r->arg;

	if (!scan_lit(&s, "<<<"))
		return false;
	if (!r->reader_end)
		r->reader_end = find_secret_reader(r->arg_start, r->arg.end);
	if (!r->reader_end)
		r->reader_end = r->arg.end;
	if (r->reader_end > r->arg.p)
		return false;
	append(r, "<<< " MASK, strlen("<<< " MASK));
	r->arg.p = read_from(r, r->arg.p)->end;
	return true;
}

/* echo bob:SECRET | chpasswd */
static bool redact_echo(struct redactor *r)
{
	const struct reading *reading;
	struct scan s = r->arg;

	if (!is_word_start(r) || !(scan_lit(&s, "echo ") || scan_lit(&s, "printf ")))
		return false;
	reading = read_from(r, s.p);
	if (!reading->is_piped_secret)
		return false;
	copy(r, (size_t)(s.p - r->arg.p));
	append(r, MASK " ", strlen(MASK " "));
	r->arg.p = reading->end;
	return true;
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
	if (r->is_script)
		r->quote = quote_after(r->quote, c);
	if (scan_lit(&(struct scan){ r->arg.p, r->arg.end }, "://")) {
		copy(r, 3);
		redact_userinfo(r);
		return;
	}
	copy(r, 1);
}

/* -h, --host, --host=db; but a password may begin with '-', too. */
static bool looks_like_option(struct scan word)
{
	const char *p = word.p + 2;

	if (scan_left(&word) < 2 || scan_left(&word) > SECRET_VALUE_MAX || *word.p != '-')
		return false;
	if (word.p[1] != '-')
		return scan_left(&word) == 2;
	while (p < word.end && ((*p >= 'a' && *p <= 'z') || *p == '-' || *p == '_'))
		p++;
	return p > word.p + 3 && (p == word.end || *p == '=');
}

static void mask_word(struct redactor *r)
{
	if (r->is_script) {
		mask_value(r, false);
		return;
	}
	append(r, MASK, strlen(MASK));
	r->arg.p = r->arg.end;
}

/* Masks the word if it is an argument that is a secret by its place. */
static bool redact_argument(struct redactor *r)
{
	struct scan word;

	if (!r->arguments || !is_word_start(r) || *r->arg.p == '-')
		return false;
	word = value_at(r, r->arg.p);
	if (scan_at_end(&word) || *word.p == '-')
		return false;
	if (r->kept_arguments) {
		r->kept_arguments--;
		return false;
	}
	mask_word(r);
	return true;
}

/* Masks the word if it follows one that announces a secret. */
static bool redact_next(struct redactor *r)
{
	struct scan word = value_at(r, r->arg.p);
	enum secret_name next = r->next;

	if (scan_at_end(&word))
		return false;
	r->next = SECRET_NAME_NO;
	if (looks_like_option(word) || !hides(next, word))
		return false;
	mask_word(r);
	return true;
}

/* Masks the word if what came before makes it a secret. */
static bool redact_by_place(struct redactor *r)
{
	if (is_blank(*r->arg.p))
		return false;
	return (r->next && redact_next(r)) || redact_argument(r);
}

static void end_command(struct redactor *r)
{
	r->arguments = NULL;
	r->command = (struct scan){ 0 };
	r->in_settings = false;
}

static void begin_arg(struct redactor *r)
{
	static const char quotes[READINGS] = { '\0', '"', '\'' };

	r->arg_start = r->arg.p;
	r->quote = '\0';
	r->in_query = false;
	for (unsigned i = 0; i < READINGS; i++)
		r->readings[i] = (struct reading){ .quote = quotes[i] };
	r->readings_at = r->url_end = r->arg.p;
	r->reader_end = NULL;
	if (scan_at_end(&r->arg))
		r->next = SECRET_NAME_NO;
}

static void redact_arg(struct redactor *r)
{
	begin_arg(r);
	while (!scan_at_end(&r->arg) && r->len < r->cap) {
		if (r->is_script && !r->quote && is_separator(*r->arg.p))
			end_command(r);
		if (redact_by_place(r) ||
		    (r->is_script && (redact_here_string(r) || redact_echo(r))))
			continue;
		if (is_name_char(*r->arg.p))
			redact_run(r);
		else
			redact_other(r);
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

bool redact_hides(const char *key, const char *text)
{
	return *text && *key && hides(secret_name_meaning(scan_str(key)), scan_str(text));
}

void redact_value(const char *key, const char *text, struct buf *to)
{
	if (redact_hides(key, text))
		buf_puts(to, MASK);
	else
		redact_text(text, to);
}
