/* SPDX-License-Identifier: MIT */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/verb_list.h"

#define WIDTH 80
#define OPTION_COLUMN 26 /* where what an option does begins */
#define VERB_COLUMN 12

/* The length of the next word, with the blanks that are inside of brackets. */
static size_t word_len(const char *text)
{
	int depth = 0;
	size_t n = 0;

	for (; text[n] && text[n] != '\n' && (text[n] != ' ' || depth > 0); n++)
		depth += (text[n] == '[') - (text[n] == ']');
	return n;
}

/* Whether the line that ends before `at` is the end of a sentence. */
static bool ends_line(const char *text, const char *at)
{
	return *at == '\n' && at > text && at[-1] == '.';
}

/* Text that is written in lines of any length. A line that ends in a full stop stays the end of one; all
 * others are joined. Lines after the first begin with `indent` blanks; `column` is where the first begins. Words
 * in [brackets] stay together. */
static void put_flowing(struct buf *to, const char *text, size_t column, size_t indent)
{
	const char *at = text;
	bool is_first = true;

	while (*at) {
		size_t n = word_len(at), wide = text_columns(at, n);
		bool breaks = at > text && ends_line(text, at - 1);

		if (!is_first && (breaks || column + 1 + wide > WIDTH)) {
			buf_printf(to, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!is_first) {
			buf_putc(to, ' ');
			column++;
		}
		buf_put(to, at, n);
		column += wide;
		is_first = false;
		at += n;
		if (*at == '\n' || *at == ' ')
			at++;
		while (*at == ' ')
			at++;
	}
}

/* One row of a table of options. */
static void put_option(const struct opt *o, struct buf *to)
{
	char left[64];
	size_t used;
	int gap;

	snprintf(left, sizeof left, "  %s%c%s --%s%s%s", o->letter ? "-" : " ",
	         o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name, o->value ? " " : "",
	         o->value ? o->value : "");
	used = text_columns(left, strlen(left));
	gap = used < OPTION_COLUMN ? (int)(OPTION_COLUMN - used) : 1;
	buf_printf(to, "%s%*s", left, gap, "");
	put_flowing(to, o->help, used + (size_t)gap, OPTION_COLUMN);
	buf_putc(to, '\n');
}

bool help_has_option(const struct cli *cli, const struct opt *o)
{
	return o->to != &cli->json || !cli->verb || !cli->verb->instead_of_json;
}

int help_print_verb(const struct cli *cli, const struct opt *opts)
{
	const struct verb *verb = cli->verb;
	cleanup(buf_done) struct buf out = { 0 };
	size_t before;

	buf_printf(&out, "proctor %s: ", verb->name);
	put_flowing(&out, verb->summary, out.len, 0);
	buf_puts(&out, "\n\n");
	before = out.len;
	buf_printf(&out, "usage: proctor %s ", verb->name);
	before = out.len - before;
	put_flowing(&out, verb->usage, before, before);
	if (verb->about) {
		buf_puts(&out, "\n\n");
		put_flowing(&out, verb->about, 0, 0);
	}
	buf_puts(&out, "\n\noptions:\n");
	for (; opts->name; opts++)
		if (help_has_option(cli, opts))
			put_option(opts, &out);
	buf_printf(&out, "\nexample: %s\nmore: man proctor-%s\n", verb->example, verb->name);
	return cli_print(&out);
}

void help_put_verbs(struct buf *to)
{
	buf_puts(to, "proctor: a job-aware resource profiler for Linux\n\n"
	             "usage: proctor VERB [OPTION…] [WORD…]\n");
	for (const struct verb_group *g = verb_groups; g->title; g++) {
		buf_printf(to, "\n%s:\n", g->title);
		for (const struct verb *const *v = g->verbs; *v; v++) {
			buf_printf(to, "  %-*s", VERB_COLUMN - 2, (*v)->name);
			put_flowing(to, (*v)->summary, VERB_COLUMN, VERB_COLUMN);
			buf_putc(to, '\n');
		}
	}
}

/* Some verbs have no --json. */
static void put_json_help(const struct opt *json, struct buf *to)
{
	cleanup(buf_done) struct buf text = { 0 };
	struct opt with_verbs = *json;
	const char *before = "; not for ";

	buf_puts(&text, json->help);
	for (const struct verb *const *v = verb_list; *v; v++) {
		if (!(*v)->instead_of_json)
			continue;
		buf_printf(&text, "%s%s", before, (*v)->name);
		before = ", ";
	}
	with_verbs.help = text.at;
	put_option(&with_verbs, to);
}

int help_print_all(const struct cli *cli, const struct opt *opts)
{
	cleanup(buf_done) struct buf out = { 0 };

	help_put_verbs(&out);
	buf_puts(&out, "\noptions of every verb:\n");
	for (; opts->name; opts++)
		if (opts->to == &cli->json)
			put_json_help(opts, &out);
		else
			put_option(opts, &out);
	buf_puts(&out, "\nexit status: 0 ok, 1 failed (or the answer is no), 2 usage error, 3 not found,\n"
	               "             4 no daemon\n"
	               "one verb and its options: proctor help VERB, or man proctor-VERB\n"
	               "what keys and columns mean: proctor help fields\n");
	return cli_print(&out);
}
