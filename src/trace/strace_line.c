/* SPDX-License-Identifier: MIT */
#include "trace/strace_line.h"

#include <sched.h>
#include <string.h>

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

static void take_number(struct scan s, uint64_t *ret)
{
	*ret = 0;
	(void)(scan_lit(&s, "0x") ? scan_hex(&s, ret) : scan_u64(&s, ret));
}

/* ) = 0x3 <0.000010>
 * ) = -1 ENOENT (No such file or directory) <0.000008>
 * ) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.500000>
 * )                     = ?
 * False: it has not returned. */
static bool take_result(struct scan s, struct strace_line *ret)
{
	struct scan args, result, error;

	if (!scan_until(&s, ')', &args))
		return false;
	scan_blanks(&s);
	if (!scan_lit(&s, "="))
		return false;
	scan_blanks(&s);
	if (!scan_word(&s, &result))
		return false;
	take_number(result, &ret->result);
	scan_blanks(&s);
	ret->ns = time_at_end(s);
	if (s.p < s.end && *s.p == 'E' && scan_word(&s, &error))
		ret->error = error;
	return true;
}

/* clone(0x3d0f00, 0x7f…
 * clone3({flags=CLONE_VM|…|CLONE_THREAD|…, child_tid=… */
static bool finds_thread(struct scan name, struct scan args)
{
	static const char word[] = "CLONE_THREAD";
	uint64_t flags;

	if (scan_eq(&name, "clone3"))
		return memmem(args.p, scan_left(&args), word, sizeof word - 1);
	if (!scan_eq(&name, "clone"))
		return false;
	take_number(args, &flags);
	return flags & CLONE_THREAD;
}

/* +++ exited with 0 +++
 * +++ killed by SIGKILL (core dumped) +++
 * +++ superseded by execve in pid 4712 +++ */
static void take_end(struct scan s, struct strace_line *ret)
{
	uint64_t tid;

	if (scan_lit(&s, "exited ") || scan_lit(&s, "killed ")) {
		ret->kind = STRACE_LINE_ENDED;
	} else if (scan_lit(&s, "superseded by execve in pid ") && scan_u64(&s, &tid)) {
		ret->kind = STRACE_LINE_SUPERSEDED;
		ret->other = (pid_t)tid;
	}
}

/* Parses the text behind tid and time. False: it is not a line of strace. */
static bool take_rest(struct scan line, struct strace_line *l)
{
	if (scan_lit(&line, "+++ ")) {
		take_end(line, l);
	} else if (scan_lit(&line, "<... ")) {
		if (!take_name(&line, &l->name) || !scan_lit(&line, " resumed>"))
			return false;
		l->kind = take_result(line, l) ? STRACE_LINE_LEFT : 0;
	} else if (take_name(&line, &l->name) && scan_lit(&line, "(")) {
		l->makes_thread = finds_thread(l->name, line);
		l->kind = STRACE_LINE_ENTERED | (take_result(line, l) ? STRACE_LINE_LEFT : 0);
	}
	return true;
}

/* 4711 1700000000.123456 openat(0xffffff9c, 0x7f97d722c0b1, 0x80000, 0) = 0x3 <0.000010>
 * 4711 1700000000.123456 wait4(0xffffffff, 0x7ffc70a4f2fc, 0, 0 <unfinished ...>
 * 4711 1700000000.123456 <... wait4 resumed>) = 0x74ad <0.000150>
 * 4711 1700000000.123456 pause( <detached ...>
 * 4711 1700000000.123456 +++ exited with 0 +++
 * The time may be missing. */
bool strace_line_parse(struct scan line, struct strace_line *ret)
{
	struct strace_line l = { 0 };
	uint64_t tid;

	if (!scan_u64(&line, &tid))
		return false;
	l.tid = (pid_t)tid;
	scan_blanks(&line);
	if (line.p < line.end && *line.p >= '0' && *line.p <= '9') {
		if (!scan_fixed(&line, 9, &l.at_ns))
			return false;
		scan_blanks(&line);
	}
	if (!take_rest(line, &l))
		return false;
	*ret = l;
	return true;
}
