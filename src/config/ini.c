/* SPDX-License-Identifier: MIT */
#include "config/ini.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/suggestion.h"
#include "config/config_key.h"

struct reader {
	const char *file;
	size_t line;
	struct scan section;
	bool in_section, is_known; /* is_known: the section exists */
	uint64_t seen;             /* one bit per key of config_keys[] */
	struct config *to;
	struct config_problems *problems;
};

void ini_problems_done(struct config_problems *p)
{
	vec_done(&p->list);
}

void ini_problem_add(struct config_problems *p, const char *fmt, ...)
{
	struct config_problem *problem = vec_push(&p->list, CONFIG_PROBLEMS_MAX);
	va_list ap;

	if (!problem) {
		p->dropped++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(problem->text, sizeof problem->text, fmt, ap);
	va_end(ap);
}

/* Arguments for %.*s: a name from the file, limited in length. */
#define QUOTED(s) (int)MIN(scan_left(&(s)), (size_t)60), (s).p

static void trim(struct scan *s)
{
	scan_blanks(s);
	while (s->end > s->p && (s->end[-1] == ' ' || s->end[-1] == '\t' || s->end[-1] == '\r'))
		s->end--;
}

static void read_section(struct reader *r, struct scan line)
{
	struct scan name;

	line.p++;
	if (!scan_until(&line, ']', &name) || !scan_at_end(&line)) {
		ini_problem_add(r->problems,
		                "%s:%zu: a section is written [name], with nothing after it",
		                r->file, r->line);
		r->in_section = r->is_known = false;
		return;
	}
	trim(&name);
	r->section = name;
	r->in_section = true;
	r->is_known = config_has_section(name);
	if (!r->is_known)
		ini_problem_add(r->problems, "%s:%zu: [%.*s]: unknown section", r->file, r->line,
		                QUOTED(name));
}

static void unknown_key(struct reader *r, struct scan name)
{
	struct suggestion s = { .word = name.p, .len = scan_left(&name) };

	for (const struct config_key *key = config_keys; key->section; key++)
		if (scan_eq(&r->section, key->section))
			suggestion_offer(&s, key->name);
	ini_problem_add(r->problems, "%s:%zu: [%.*s] %.*s: unknown key%s%s%s", r->file, r->line,
	                QUOTED(r->section), QUOTED(name), s.best ? "; did you mean " : "",
	                s.best ? s.best : "", s.best ? "?" : "");
}

static void read_value(struct reader *r, struct scan name, struct scan value)
{
	const struct config_key *key = config_key_find(r->section, name);
	uint64_t bit;
	struct err err;

	if (!key) {
		unknown_key(r, name);
		return;
	}
	bit = UINT64_C(1) << (key - config_keys);
	if (r->seen & bit) {
		ini_problem_add(r->problems, "%s:%zu: [%s] %s: given twice in this file", r->file,
		                r->line, key->section, key->name);
		return;
	}
	r->seen |= bit;
	if (config_key_set(key, value, r->to, &err) < 0)
		ini_problem_add(r->problems, "%s:%zu: [%s] %s: %s", r->file, r->line, key->section,
		                key->name, err.msg);
}

static void read_line(struct reader *r, struct scan line)
{
	struct scan name, value = line;

	if (memchr(line.p, '\0', scan_left(&line))) {
		ini_problem_add(r->problems, "%s:%zu: a NUL byte; this is not a text file", r->file,
		                r->line);
		return;
	}
	if (*line.p == '[') {
		read_section(r, line);
		return;
	}
	if (!scan_until(&value, '=', &name)) {
		ini_problem_add(r->problems,
		                "%s:%zu: %.*s: no '=' (a setting is written key = value)", r->file,
		                r->line, QUOTED(line));
		return;
	}
	trim(&name);
	trim(&value);
	if (r->is_known)
		read_value(r, name, value);
	else if (!r->in_section)
		ini_problem_add(r->problems, "%s:%zu: %.*s: is not in any [section]", r->file,
		                r->line, QUOTED(name));
}

void ini_read(struct scan text, const char *file, struct config *to,
              struct config_problems *problems)
{
	struct reader r = { .file = file, .to = to, .problems = problems };
	struct scan line;

	scan_lit(&text, "\xEF\xBB\xBF"); /* a byte order mark */
	while (scan_line(&text, &line)) {
		r.line++;
		trim(&line);
		if (!scan_at_end(&line) && *line.p != '#' && *line.p != ';')
			read_line(&r, line);
	}
}
