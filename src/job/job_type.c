/* SPDX-License-Identifier: MIT */
#include "job/job_type.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/buf.h"
#include "job/job_type_tool.h"

#define WRAPPERS_MAX 16 /* nice timeout env … one inside the other */

/* The words a type is made of, before they are cleaned. */
struct parts {
	const char *name, *verb, *more; /* "npm" "run" "build" */
	const char *text;               /* a program given as an argument */
	char plain[32];                 /* memory for `name` */
};

/* The arguments, and where we are. */
struct walk {
	char *const *argv;
	int argc, at;
};

static const char *peek(const struct walk *w, int ahead)
{
	return w->at + ahead < w->argc ? w->argv[w->at + ahead] : NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const struct job_type_tool *tool_at(const struct walk *w)
{
	const char *name = base_name(w->argv[w->at]);

	return job_type_tool_find(scan_str(name + (name[0] == '-')),
	                          peek(w, 1)); /* -bash: at login */
}

static bool is_number(const char *s)
{
	return *s && s[strspn(s, "0123456789.")] == '\0';
}

/* NAME=value */
static bool is_assignment(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return n > 0 && s[n] == '=' && !(s[0] >= '0' && s[0] <= '9');
}

/* sh -c -- TEXT: options may stand in between. */
static const char *text_after(struct walk *w)
{
	while (w->at + 2 < w->argc && w->argv[w->at + 1][0] == '-')
		w->at++;
	return w->argv[MIN(w->at + 1, w->argc - 1)];
}

/* Moves on to the command that the tool runs; false: there is none, or it is a text. */
static bool skip_wrapper(struct walk *w, const struct job_type_tool *t, const char **ret_text)
{
	unsigned operands = t->operands;

	for (w->at += 1 + (t->only != NULL); w->at < w->argc; w->at++) {
		const char *arg = w->argv[w->at];
		enum type_arg kind = job_type_tool_arg(t, arg);

		if (kind == TYPE_ARG_TEXT) {
			*ret_text = text_after(w);
			return false;
		}
		if (kind == TYPE_ARG_VALUED)
			w->at++;
		if (kind != TYPE_ARG_WORD || is_assignment(arg))
			continue;
		if (operands == 0)
			return true;
		operands--;
	}
	return false;
}

/* Ends at the command; ret has a text if it is one. */
static const struct job_type_tool *skip_wrappers(struct walk *w, struct parts *ret)
{
	const struct job_type_tool *t = tool_at(w);

	for (int i = 0; i < WRAPPERS_MAX && t && t->kind == JOB_TYPE_TOOL_WRAPPER; i++) {
		struct walk next = *w;

		if (!skip_wrapper(&next, t, &ret->text))
			return NULL;
		*w = next;
		t = tool_at(w);
	}
	return t;
}

/* python for python3.11 */
static void drop_version(struct parts *p)
{
	size_t n = strlen(p->name);

	while (n > 1 && strchr("0123456789.", p->name[n - 1]))
		n--;
	snprintf(p->plain, sizeof p->plain, "%.*s", (int)n, p->name);
	p->name = p->plain;
}

static void name_script(struct walk *w, const struct job_type_tool *t, struct parts *ret)
{
	for (w->at++; w->at < w->argc; w->at++) {
		const char *arg = w->argv[w->at];

		switch (job_type_tool_arg(t, arg)) {
		case TYPE_ARG_TEXT:
			ret->text = text_after(w);
			drop_version(ret);
			return;
		case TYPE_ARG_MODULE:
			ret->verb = peek(w, 1);
			drop_version(ret);
			return;
		case TYPE_ARG_SCRIPT:
			ret->name = peek(w, 1) ? base_name(peek(w, 1)) : ret->name;
			return;
		case TYPE_ARG_WORD:
			if (t->word_is_text)
				ret->text = arg;
			else if (strcmp(arg, "-") != 0)
				ret->name = base_name(arg);
			return;
		case TYPE_ARG_VALUED:
			w->at++;
			break;
		case TYPE_ARG_OPTION:
		case TYPE_ARG_END:
			break;
		}
	}
}

/* Paths, numbers and settings say what it is done to, not what is done. */
static bool is_verb(const char *word)
{
	return !strchr("+./", word[0]) && !is_number(word) && !is_assignment(word);
}

static void name_verb(struct walk *w, const struct job_type_tool *t, struct parts *ret)
{
	for (w->at++; w->at < w->argc && !ret->more; w->at++) {
		const char *arg = w->argv[w->at];
		enum type_arg kind = job_type_tool_arg(t, arg);

		if (kind == TYPE_ARG_VALUED)
			w->at++;
		if (job_type_tool_lists(t->verbs, scan_str(arg)))
			kind = TYPE_ARG_WORD;
		if (kind != TYPE_ARG_WORD || !is_verb(arg))
			continue;
		if (ret->verb)
			ret->more = arg;
		else
			ret->verb = arg;
		if (!job_type_tool_lists(t->deeper, scan_str(ret->verb)))
			return;
	}
}

static bool is_kept(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '_' || c == '+';
}

/* Appends s after a '-', other characters than the kept ones as one '-'. */
static void put_clean(struct buf *to, const char *s)
{
	if (to->len)
		buf_putc(to, '-');
	for (; *s; s++) {
		bool kept = is_kept(*s) && !(*s == '.' && to->len == 0);

		if (kept)
			buf_putc(to, *s);
		else if (to->len && to->at[to->len - 1] != '-')
			buf_putc(to, '-');
	}
	while (to->len && to->at[to->len - 1] == '-')
		to->len--;
}

static bool has_foreign(const char *s)
{
	for (; s && *s; s++)
		if (*s & 0x80)
			return true;
	return false;
}

static void assemble(const struct parts *p, char ret[JOB_ID_MAX])
{
	const char *const words[] = { p->name, p->verb, p->more };
	char plain[JOB_TYPE_LEN + 1], hash[HASH_NAME_LEN + 1] = "";
	cleanup(buf_done) struct buf text = { .max = 1 << 16 };
	uint64_t h = HASH_SEED;
	bool is_told_apart = p->text != NULL;
	size_t room = JOB_TYPE_LEN;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (!words[i])
			continue;
		put_clean(&text, words[i]);
		is_told_apart |= has_foreign(words[i]);
		h = p->text ? h : hash_bytes(h, words[i], strlen(words[i]) + 1);
	}
	if (p->text)
		h = hash_bytes(h, p->text, strlen(p->text));
	/* What cannot be typed or is too long is told apart by its hash. */
	if (is_told_apart || text.len > JOB_TYPE_LEN || text.len == 0) {
		hash_name(h, HASH_NAME_LEN, hash);
		room -= HASH_NAME_LEN + 1;
	}
	snprintf(plain, sizeof plain, "%.*s", (int)MIN(text.len, room), text.len ? text.at : "");
	snprintf(ret, JOB_ID_MAX, "%s%s%s", plain[0] ? plain : "job", hash[0] ? ":" : "", hash);
}

void job_type(int argc, char *const *argv, char ret[JOB_ID_MAX])
{
	struct walk w = { .argv = argv, .argc = argc };
	struct parts p = { .name = "" };
	const struct job_type_tool *t = NULL;

	if (argc > 0) {
		t = skip_wrappers(&w, &p);
		p.name = base_name(argv[w.at]);
		p.name += p.name[0] == '-';
	}
	if (t && t->kind == JOB_TYPE_TOOL_INTERPRETER)
		name_script(&w, t, &p);
	else if (t && t->kind == JOB_TYPE_TOOL_MULTIPLEXER)
		name_verb(&w, t, &p);
	assemble(&p, ret);
}
