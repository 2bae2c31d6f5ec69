/* SPDX-License-Identifier: MIT */
#include "model/redaction.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/scan.h"
#include "base/text.h"

#define MASK "***"

/* ---- how secrets are recognised: by their name, by an option of a known program, by their shape - */

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_alnum(char c)
{
	return is_upper(c) || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Comparing one letter first avoids most string comparisons. */
static bool is_same_letter(char a, char b)
{
	return ((a ^ b) & ~0x20) == 0;
}

/* For both functions the word must not be empty. */
static bool equals_any(struct scan word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_same_letter(*word.p, *list[i]) && strlen(list[i]) == scan_left(&word) &&
		    strncasecmp(word.p, list[i], scan_left(&word)) == 0)
			return true;
	return false;
}

static bool ends_with_any(struct scan word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(list[i]);

		if (is_same_letter(word.end[-1], list[i][len - 1]) && scan_left(&word) >= len &&
		    strncasecmp(word.end - len, list[i], len) == 0)
			return true;
	}
	return false;
}

/* The next part of a name: "db-password", "DB_PASSWORD" and "dbPassword" have two. */
static bool next_part(struct scan *name, struct scan *ret)
{
	while (name->p < name->end && !is_alnum(*name->p))
		name->p++;
	ret->p = name->p;
	while (name->p < name->end && is_alnum(*name->p) &&
	       (name->p == ret->p || !is_upper(*name->p) || is_upper(name->p[-1])))
		name->p++;
	ret->end = name->p;
	return ret->p < ret->end;
}

static const char *const secret_parts[] = { "pwd",           "pw",    "creds", "cookie",
	                                    "authorization", "bearer" };
static const char *const secret_endings[] = {
	"password", "passwd",    "passphrase", "passcode",   "pass",       "token",       "secret",
	"apikey",   "accesskey", "secretkey",  "privatekey", "credential", "credentials",
};
static const char *const secret_keys[] = {
	/* … key */
	"api",    "access", "secret", "private", "signing", "encryption",   "account",
	"master", "shared", "auth",   "service", "storage", "subscription",
};
static const char *const harmless_parts[] = {
	"max", "min", "num",  "no",      "pad", "eos",    "bos",     "unk",
	"cls", "sep", "mask", "special", "per", "bypass", "compass",
};
static const char *const harmless_last[] = {
	"file",   "path",   "dir",   "url", "uri",    "id",      "ids",   "name",  "type",
	"len",    "length", "count", "ttl", "expiry", "expires", "size",  "limit", "budget",
	"policy", "prompt", "stdin", "env", "cmd",    "command", "store", "ring",  "through",
};

#define IS_ANY(part, list) equals_any((part), (list), ARRAY_LEN(list))
#define ENDS_WITH_ANY(part, list) ends_with_any((part), (list), ARRAY_LEN(list))

/* Names are checked part by part, so that --max-tokens, --tokenizer, --password-file and --eos-token
 * stay readable. */
bool redact_is_secret_name(struct scan name)
{
	struct scan part, last = { 0 };
	bool is_secret = false;

	if (scan_eq(&name, "PWD") || scan_eq(&name, "OLDPWD"))
		return false;
	while (next_part(&name, &part)) {
		if (IS_ANY(part, harmless_parts))
			return false;
		if (IS_ANY(part, secret_parts) || ENDS_WITH_ANY(part, secret_endings))
			is_secret = true;
		if (last.p && IS_ANY(last, secret_keys) && scan_left(&part) == 3 &&
		    strncasecmp(part.p, "key", 3) == 0)
			is_secret = true;
		last = part;
	}
	return is_secret && !IS_ANY(last, harmless_last);
}

/* Whether it is a header whose value may contain blanks. */
static bool is_header(struct scan name)
{
	static const char *const endings[] = { "authorization", "cookie" };

	return ENDS_WITH_ANY(name, endings);
}

/* A trailing '*' matches anything. "login" is a verb of docker, podman, helm, az, … */
static const struct program_option {
	const char *program, *option;
	bool attached_only; /* without an attached value it prompts, or means something else */
} program_options[] = {
	{ "mysql*", "-p", true },     { "mariadb*", "-p", true },
	{ "mydumper", "-p", false },  { "myloader", "-p", false },
	{ "mycli", "-p", true },      { "mytop", "-p", false },
	{ "7z*", "-p", true },        { "sshpass", "-p", false },
	{ "login", "-p", false },     { "mongo*", "-p", false },
	{ "curl", "-u", false },      { "curl", "-U", false },
	{ "curl", "--user", false },  { "curl", "--proxy-user", false },
	{ "http", "-a", false },      { "https", "-a", false },
	{ "http", "--auth", false },  { "https", "--auth", false },
	{ "redis-cli", "-a", false }, { "ldap*", "-w", false },
	{ "smbclient", "-U", false }, { "sqlcmd", "-P", false },
	{ "bcp", "-P", false },       { "zip", "-P", false },
	{ "unzip", "-P", false },     { "openssl", "-k", false },
	{ "openssl", "-K", false },   { "snmp*", "-A", false },
	{ "snmp*", "-X", false },
};

static bool is_program(struct scan word, const char *program)
{
	size_t len = strlen(program);

	if (scan_at_end(&word) || *word.p != *program)
		return false;
	if (program[len - 1] != '*')
		return scan_eq(&word, program);
	return scan_left(&word) >= len - 1 && memcmp(word.p, program, len - 1) == 0;
}

/* Whether this word is a program, or a verb of one, that has options for secrets. */
static bool knows_program(struct scan word)
{
	for (size_t i = 0; i < ARRAY_LEN(program_options); i++)
		if (is_program(word, program_options[i].program))
			return true;
	return false;
}

/* The length of the option at the start of the word that takes a secret for this program; 0: none.
 * The secret follows directly or, unless *ret_attached_only, as the next argument. */
static size_t option_len(struct scan program, struct scan word, bool *ret_attached_only)
{
	for (size_t i = 0; i < ARRAY_LEN(program_options); i++) {
		const struct program_option *o = &program_options[i];
		struct scan rest = word;

		if (!is_program(program, o->program) || !scan_lit(&rest, o->option))
			continue;
		/* A long option must match as a whole: --user is not --user-agent. */
		if (o->option[1] == '-' && !scan_at_end(&rest) && *rest.p != '=')
			continue;
		*ret_attached_only = o->attached_only;
		return strlen(o->option);
	}
	return 0;
}

/* Prefixes that issuers give their credentials, so that scanners like this one find them. */
static const struct shape {
	const char *prefix;
	size_t min_rest;
} shapes[] = {
	{ "AKIA", 12 },     { "ASIA", 12 }, /* AWS access key ids */
	{ "ghp_", 16 },     { "gho_", 16 },        { "ghu_", 16 },     { "ghs_", 16 },
	{ "ghr_", 16 },     { "github_pat_", 16 }, { "glpat-", 16 },   { "gldt-", 16 },
	{ "glrt-", 16 }, /* GitLab */
	{ "xoxb-", 10 },    { "xoxp-", 10 },       { "xoxa-", 10 },    { "xoxr-", 10 },
	{ "xoxs-", 10 }, /* Slack */
	{ "sk-", 20 },      { "sk_live_", 10 },    { "sk_test_", 10 }, { "rk_live_", 10 },
	{ "rk_test_", 10 }, { "whsec_", 10 },      { "AIza", 30 },     { "ya29.", 10 }, /* Google */
	{ "hf_", 20 },      { "npm_", 20 },        { "pypi-", 20 },    { "dop_v1_", 20 },
	{ "SG.", 20 },      { "shpat_", 20 },      { "hvs.", 20 },     { "dckr_pat_", 16 },
	{ "lin_api_", 16 }, { "eyJ", 20 }, /* a JSON web token: base64 of '{"' */
};

static bool is_name_char(char c)
{
	return is_alnum(c) || c == '_' || c == '-' || c == '.';
}

/* The length of the credential at the start of the text, recognised by its shape; 0: none. */
static size_t shape_len(struct scan text)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		struct scan s = text;
		const char *rest;

		if (scan_at_end(&s) || *s.p != *shapes[i].prefix || !scan_lit(&s, shapes[i].prefix))
			continue;
		for (rest = s.p; s.p < s.end && (is_name_char(*s.p) || *s.p == '=');)
			s.p++;
		if ((size_t)(s.p - rest) >= shapes[i].min_rest)
			return (size_t)(s.p - text.p);
	}
	return 0;
}

/* ---- masking them ----------------------------------------------------------------------------- */

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
		size_t n = at_boundary ? shape_len(r->arg) : 0;

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
	bool may_have_blanks;

	if (!value)
		return false;
	may_have_blanks = is_header(name);
	if (!may_have_blanks && !redact_is_secret_name(name))
		return false;
	while (value[-1] == ':' && value < r->arg.end && (*value == ' ' || *value == '\t'))
		value++;
	copy(r, (size_t)(value - r->arg.p));
	mask_value(r, may_have_blanks);
	return true;
}

/* --password VALUE, Bearer VALUE, curl -u VALUE, mysql -pVALUE */
static bool redact_option(struct redactor *r, struct scan name)
{
	bool attached_only = false, is_alone = is_word_end(r, name.end);
	size_t n = r->program.p ? option_len(r->program, (struct scan){ name.p, r->arg.end },
	                                     &attached_only)
	                        : 0;

	if (n && !is_word_end(r, name.p + n)) {
		copy(r, n);
		if (!scan_at_end(&r->arg) && *r->arg.p == '=')
			copy(r, 1);
		mask_value(r, false);
		return true;
	}
	if (is_alone && *name.p == '-' && redact_is_secret_name(name))
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
	if (is_word_end(r, name.end) && knows_program(name))
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
	if (*text && *key && redact_is_secret_name(scan_str(key)))
		buf_puts(to, MASK);
	else
		redact_text(text, to);
}
