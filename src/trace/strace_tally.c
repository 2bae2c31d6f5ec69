/* SPDX-License-Identifier: MIT */
#include "trace/strace_tally.h"

#include <string.h>

void strace_tally_done(struct strace_tally *t)
{
	vec_each(&t->threads, thread)
		syscall_counts_done(&thread->counts);
	vec_each(&t->processes, process)
		syscall_counts_done(&process->counts);
	vec_done(&t->threads);
	vec_done(&t->processes);
	map_done(&t->by_tid);
	map_done(&t->by_pid);
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct strace_tally_thread *find_thread(const struct strace_tally *t, pid_t tid)
{
	uint64_t at;

	return map_get(&t->by_tid, (uint64_t)tid, &at) ? &t->threads.at[at] : NULL;
}

/* NULL at the ceiling. */
static struct strace_tally_thread *get_thread(struct strace_tally *t, pid_t tid)
{
	struct strace_tally_thread *thread = find_thread(t, tid);

	if (thread)
		return thread;
	thread = vec_push(&t->threads, STRACE_TALLY_THREADS_MAX);
	if (!thread) {
		t->has_lost = true;
		return NULL;
	}
	*thread = (struct strace_tally_thread){ .tid = tid };
	map_put(&t->by_tid, (uint64_t)tid, t->threads.len - 1);
	return thread;
}

/* The last one takes its place. */
static void remove_thread(struct strace_tally *t, struct strace_tally_thread *thread)
{
	struct strace_tally_thread *last = &t->threads.at[t->threads.len - 1];

	map_del(&t->by_tid, (uint64_t)thread->tid);
	syscall_counts_done(&thread->counts);
	if (thread != last) {
		*thread = *last;
		map_put(&t->by_tid, (uint64_t)thread->tid,
		        (uint64_t)(thread - t->threads.at));
	}
	t->threads.len--;
}

void strace_tally_add(struct strace_tally *t, pid_t pid, bool from_exec)
{
	struct strace_tally_thread *thread = get_thread(t, pid);

	if (!thread)
		return;
	thread->pid = pid;
	thread->awaits_exec = from_exec;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static struct syscall_counts *counts_of(struct strace_tally *t, pid_t pid)
{
	struct strace_tally_process *process;
	uint64_t at;

	if (map_get(&t->by_pid, (uint64_t)pid, &at))
		return &t->processes.at[at].counts;
	process = vec_push(&t->processes, STRACE_TALLY_THREADS_MAX);
	if (!process)
		return NULL;
	*process = (struct strace_tally_process){ .pid = pid };
	map_put(&t->by_pid, (uint64_t)pid, t->processes.len - 1);
	return &process->counts;
}

static void add(struct strace_tally *t, struct strace_tally_thread *thread,
                struct syscall_count count)
{
	struct syscall_counts *to = thread->pid ? counts_of(t, thread->pid) : &thread->counts;

	if (!to || !syscall_counts_add(to, &count))
		t->has_lost = true;
}

static void set_process(struct strace_tally *t, struct strace_tally_thread *thread, pid_t pid)
{
	thread->pid = pid;
	vec_each(&thread->counts.list, count)
		add(t, thread, *count);
	syscall_counts_done(&thread->counts);
}

static size_t slot_of(struct scan name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (const char *c = name.p; c < name.end; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	return hash % STRACE_TALLY_NAMES;
}

static bool find_call(struct strace_tally *t, struct scan name, syscall_id *ret)
{
	struct strace_tally_name *slot = &t->names[slot_of(name)];
	size_t len = scan_left(&name);

	if (len >= sizeof slot->name)
		return false;
	if (strncmp(slot->name, name.p, len) != 0 || slot->name[len]) {
		if (!syscall_id_find(name.p, len, &slot->call)) {
			slot->name[0] = '\0';
			return false;
		}
		memcpy(slot->name, name.p, len);
		slot->name[len] = '\0';
	}
	*ret = slot->call;
	return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool has_name(struct scan name, const char *const *names)
{
	for (; *names; names++)
		if (scan_eq(&name, *names))
			return true;
	return false;
}

/* A new thread belongs to the process of the one that made it. Its first lines may come before the return of
 * the call. In another pid namespace the result is no tid of ours. */
static void learn_child(struct strace_tally *t, pid_t tid, bool is_thread, pid_t maker_pid)
{
	struct strace_tally_thread *child = is_thread ? get_thread(t, tid) : find_thread(t, tid);

	if (child && !child->pid && (!is_thread || maker_pid))
		set_process(t, child, is_thread ? maker_pid : tid);
}

static bool is_thread_being_made(const struct strace_tally *t)
{
	vec_each(&t->threads, thread)
		if (thread->is_in_call && thread->makes_thread)
			return true;
	return false;
}

/* Threads that it creates must be assigned to its process. */
static void enter(struct strace_tally *t, struct strace_tally_thread *thread, syscall_id call,
                  const struct strace_line *line)
{
	if (!thread->pid && line->makes_thread && !is_thread_being_made(t))
		set_process(t, thread, thread->tid);
	if (!thread->is_in_call || thread->call != call || thread->entered_ns != line->at_ns)
		thread->counted_ns = 0; /* else its line has been peeked at */
	thread->is_in_call = true;
	thread->call = call;
	thread->makes_thread = line->makes_thread;
	thread->entered_ns = line->at_ns;
}

static uint64_t time_until(const struct strace_tally_thread *thread, uint64_t at_ns)
{
	return thread->entered_ns && at_ns > thread->entered_ns ? at_ns - thread->entered_ns : 0;
}

static void leave(struct strace_tally *t, struct strace_tally_thread *thread, uint64_t ns,
                  uint32_t error)
{
	struct syscall_count count = { .call = thread->call,
		                       .count = 1,
		                       .ns = ns - MIN(ns, thread->counted_ns) };

	thread->is_in_call = false;
	add(t, thread, count);
	if (error)
		add(t, thread,
		    (struct syscall_count){ .call = thread->call, .error = error, .count = 1 });
}

static void take_return(struct strace_tally *t, struct strace_tally_thread *thread,
                        const struct strace_line *line)
{
	static const char *const makers[] = { "clone", "clone3", "fork", "vfork", NULL };
	uint32_t error = 0;

	if (line->error.p < line->error.end)
		error = syscall_error_find(line->error.p, scan_left(&line->error));
	if (thread->awaits_exec && !error && scan_eq(&line->name, "execve"))
		thread->awaits_exec = false;
	if (thread->awaits_exec) {
		thread->is_in_call = false;
		return;
	}
	leave(t, thread, line->ns ? line->ns : time_until(thread, line->at_ns), error);
	if (!error && line->result && line->result <= INT32_MAX && has_name(line->name, makers))
		learn_child(t, (pid_t)line->result, thread->makes_thread, thread->pid);
}

static void end_call(struct strace_tally *t, struct strace_tally_thread *thread, uint64_t at_ns)
{
	if (thread->is_in_call && !thread->awaits_exec)
		leave(t, thread, time_until(thread, at_ns), 0);
}

static void end_thread(struct strace_tally *t, struct strace_tally_thread *thread, uint64_t at_ns)
{
	end_call(t, thread, at_ns);
	if (!thread->pid && thread->counts.list.len)
		set_process(t, thread, thread->tid);
	remove_thread(t, thread);
}

/* The first thread of the process is gone, and the one that executes a program has its tid. */
static void supersede(struct strace_tally *t, struct strace_tally_thread *first,
                      const struct strace_line *line)
{
	struct strace_tally_thread *other = find_thread(t, line->other);

	end_call(t, first, line->at_ns);
	if (!other || other == first)
		return;
	if (!other->pid)
		set_process(t, other, first->pid ? first->pid : first->tid);
	first->is_in_call = other->is_in_call;
	first->call = other->call;
	first->entered_ns = other->entered_ns;
	first->counted_ns = other->counted_ns;
	remove_thread(t, other);
}

void strace_tally_line(struct strace_tally *t, struct scan text)
{
	struct strace_tally_thread *thread;
	struct strace_line line;
	syscall_id call;

	if (!strace_line_parse(text, &line) || !line.kind)
		return;
	thread = get_thread(t, line.tid);
	if (!thread)
		return;
	if (line.kind & STRACE_LINE_SUPERSEDED)
		supersede(t, thread, &line);
	else if (line.kind & STRACE_LINE_ENDED)
		end_thread(t, thread, line.at_ns);
	else if (!find_call(t, line.name, &call))
		t->has_lost = true;
	else {
		if (line.kind & STRACE_LINE_ENTERED || !thread->is_in_call)
			enter(t, thread, call, &line);
		if (line.kind & STRACE_LINE_LEFT)
			take_return(t, thread, &line);
	}
}

void strace_tally_peek(struct strace_tally *t, struct scan text)
{
	struct strace_tally_thread *thread;
	struct strace_line line;
	syscall_id call;

	if (!strace_line_parse(text, &line) || line.kind != STRACE_LINE_ENTERED ||
	    !find_call(t, line.name, &call))
		return;
	thread = get_thread(t, line.tid);
	if (thread)
		enter(t, thread, call, &line);
}

bool strace_tally_is_in_call(const struct strace_tally *t)
{
	vec_each(&t->threads, thread)
		if (thread->is_in_call)
			return true;
	return false;
}

void strace_tally_end(struct strace_tally *t)
{
	vec_each(&t->threads, thread)
		end_call(t, thread, thread->entered_ns + thread->counted_ns);
}

/* ---- results --------------------------------------------------------------------------------- */

static void add_time(struct strace_tally *t, struct strace_tally_thread *thread, uint64_t now_ns)
{
	uint64_t ns = time_until(thread, now_ns);

	if (!thread->is_in_call || thread->awaits_exec || ns <= thread->counted_ns)
		return;
	add(t, thread,
	    (struct syscall_count){ .call = thread->call, .ns = ns - thread->counted_ns });
	thread->counted_ns = ns;
}

void strace_tally_take(struct strace_tally *t, uint64_t now_ns, strace_tally_fn *fn, void *self)
{
	bool may_be_known_later = is_thread_being_made(t);

	vec_each(&t->threads, thread) {
		add_time(t, thread, now_ns);
		if (!thread->pid && !may_be_known_later)
			set_process(t, thread, thread->tid);
	}
	vec_each(&t->processes, process) {
		vec_each(&process->counts.list, count)
			fn(self, process->pid, count);
		syscall_counts_done(&process->counts);
	}
	vec_reset(&t->processes);
	map_reset(&t->by_pid);
}
