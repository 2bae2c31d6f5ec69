/* SPDX-License-Identifier: MIT */
#include "trace/strace_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 2048

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool take_name(struct scan *s, struct scan *ret)
{
	const char *begin = s->p;

	while (s->p < s->end && is_name_char(*s->p))
		s->p++;
	*ret = (struct scan){ begin, s->p };
	return s->p > begin;
}

/* … <0.000167> */
static uint64_t time_at_end(struct scan line)
{
	const char *open = memrchr(line.p, '<', scan_left(&line));
	struct scan s = { open ? open + 1 : line.end, line.end };
	uint64_t ns = 0;

	return scan_fixed(&s, 9, &ns) && scan_lit(&s, ">") && scan_at_end(&s) ? ns : 0;
}

/* ) = 0x3 <0.000010>
 * ) = -1 ENOENT (No such file or directory) <0.000008>
 * ) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.500000>
 * )                     = ?
 * False: it has not returned. */
static bool take_result(struct scan s, struct strace_line *ret)
{
	struct scan args, result;

	if (!scan_until(&s, ')', &args))
		return false;
	scan_blanks(&s);
	if (!scan_lit(&s, "="))
		return false;
	scan_blanks(&s);
	if (!scan_word(&s, &result))
		return false;
	scan_blanks(&s);
	ret->has_failed = s.p < s.end && *s.p == 'E';
	ret->ns = time_at_end(s);
	return true;
}

/* 4711 openat(0xffffff9c, 0x7f97d722c0b1, 0x80000, 0) = 0x3 <0.000010>
 * 4711 wait4(0xffffffff, 0x7ffc70a4f2fc, 0, 0 <unfinished ...>
 * 4711 <... wait4 resumed>) = 0x74ad <0.000150>
 * 4711 pause( <detached ...>
 * 4711 +++ exited with 0 +++ */
bool strace_line_parse(struct scan line, struct strace_line *ret)
{
	struct strace_line l = { 0 };
	uint64_t tid;

	if (!scan_u64(&line, &tid))
		return false;
	scan_blanks(&line);
	if (scan_lit(&line, "<... ")) {
		if (!take_name(&line, &l.name) || !scan_lit(&line, " resumed>"))
			return false;
		l.kind = take_result(line, &l) ? STRACE_LINE_LEFT : 0;
	} else if (take_name(&line, &l.name) && scan_lit(&line, "(")) {
		l.kind = STRACE_LINE_ENTERED | (take_result(line, &l) ? STRACE_LINE_LEFT : 0);
	}
	*ret = l;
	return true;
}

static struct syscall_record *record_of(struct strace_counts *c, struct scan name)
{
	size_t n = MIN(scan_left(&name), (size_t)SYSCALL_NAME_MAX - 1);
	struct syscall_record *r;

	vec_each(&c->list, known)
		if (strncmp(known->name, name.p, n) == 0 && !known->name[n])
			return known;
	r = vec_push(&c->list, NAMES_MAX);
	if (r)
		memcpy(r->name, name.p, n);
	return r;
}

void strace_counts_add(struct strace_counts *c, const struct strace_line *line)
{
	struct syscall_record *r = line->kind ? record_of(c, line->name) : NULL;

	if (!r)
		return;
	r->count += line->kind & STRACE_LINE_ENTERED ? 1 : 0;
	r->errors += line->has_failed;
	r->ns += line->ns;
}

static int by_time(const void *a_, const void *b_)
{
	const struct syscall_record *a = a_, *b = b_;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return strcmp(a->name, b->name);
}

void strace_counts_finish(struct strace_counts *c)
{
	double all_ns = 0;

	vec_each(&c->list, call)
		all_ns += (double)call->ns;
	vec_each(&c->list, call)
		call->time_ratio = all_ns > 0 ? (double)call->ns / all_ns : NAN;
	if (c->list.len)
		qsort(c->list.at, c->list.len, sizeof *c->list.at, by_time);
}

void strace_counts_done(struct strace_counts *c)
{
	vec_done(&c->list);
}
