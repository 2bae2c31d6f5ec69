/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/process_lookup.h"
#include "top/screen_inside.h"

#define PAGE_PATIENCE_NS (10 * NS_PER_S)
#define PAGE_MAX ((size_t)4 << 20)
#define START_TOLERANCE_NS NS_PER_S /* between the clock of the snapshot and ours */

/* ---- kill ------------------------------------------------------------------------------------ */

static void add_victim(struct screen *s, const struct frame_proc *p)
{
	struct top_state *t = &s->state;

	if (t->victim_count == TOP_VICTIMS_MAX || p->pid <= 1)
		return;
	t->victims[t->victim_count++] =
		(struct top_victim){ .pid = p->pid,
		                     .started_ns = s->frame.head.wall_ns - MIN(p->age_ns, s->frame.head.wall_ns) };
}

static void choose_marked(struct screen *s)
{
	uint64_t ignored;

	vec_each(&s->frame.procs, p)
		if (map_get(&s->state.marked, (uint64_t)p->pid, &ignored))
			add_victim(s, p);
	snprintf(s->state.victim_name, sizeof s->state.victim_name, "the marked");
}

static void choose_row(struct screen *s, const struct top_row *row)
{
	const struct frame *f = &s->frame;
	int32_t job = top_state_job_of(f, row);

	if (row->kind == TOP_ROW_PROC) {
		add_victim(s, &f->procs.at[row->index]);
		s->state.victim_pid = f->procs.at[row->index].pid;
		snprintf(s->state.victim_name, sizeof s->state.victim_name, "%s",
		         top_command(f, &f->procs.at[row->index]));
		return;
	}
	vec_each(&f->procs, p)
		if (job >= 0 && p->job == job &&
		    (row->kind == TOP_ROW_JOB || p->sheet == f->sheets.at[row->index].num))
			add_victim(s, p);
	snprintf(s->state.victim_name, sizeof s->state.victim_name, "%s",
	         job >= 0 ? frame_str(f, f->jobs.at[job].id) : "");
}

void screen_ask_kill(struct screen *s)
{
	const struct top_row *row = top_state_row(&s->state);

	s->state.victim_count = 0;
	s->state.victim_pid = 0;
	s->state.menu = 0;
	if (s->state.is_past) {
		screen_show_message(s, false, "this is the past; Esc goes back to now");
		return;
	}
	if (s->state.marked.len)
		choose_marked(s);
	else if (row && row->kind != TOP_ROW_OTHERS)
		choose_row(s, row);
	if (!s->state.victim_count)
		screen_show_message(s, false, "select a process, a sheet or a job first");
	else
		s->state.mode = TOP_KILLING;
}

/* The pid may belong to another process by now: the file descriptor holds on to the one whose start is then
 * compared. */
static int kill_one(struct process_reader *reader, const struct top_victim *v, int signo)
{
	cleanup(closep) int fd = pidfd_open(v->pid, 0);
	struct proc_id id = { .pid = v->pid };
	uint64_t start_ns, expected_ns = clock_boot_at(v->started_ns);

	if (fd < 0)
		return -errno;
	process_lookup_find_start(reader, &id);
	start_ns = id.start_ticks * NS_PER_TICK;
	if (!id.start_ticks || start_ns > expected_ns + START_TOLERANCE_NS ||
	    start_ns + START_TOLERANCE_NS < expected_ns)
		return -ESRCH;
	return pidfd_send_signal(fd, signo, NULL, 0) < 0 ? -errno : 0;
}

void screen_kill(struct screen *s)
{
	int signo = s->state.menu ? SIGKILL : SIGTERM, last = 0;
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct process_reader *reader = process_reader_new(root_fd);
	size_t sent = 0;

	for (size_t i = 0; i < s->state.victim_count; i++) {
		int r = kill_one(reader, &s->state.victims[i], signo);

		sent += r == 0;
		last = r < 0 ? r : last;
	}
	process_reader_free(reader);
	map_reset(&s->state.marked);
	if (last && !sent)
		screen_show_message(s, true, "not sent: %s",
		                    last == -ESRCH ? "it has ended" : strerror(-last));
	else
		screen_show_message(s, false, "%s was sent to %zu process%s",
		                    signo == SIGKILL ? "SIGKILL" : "SIGTERM", sent,
		                    sent == 1 ? "" : "es");
}

/* ---- other verbs ----------------------------------------------------------------------------- */

/* In the child: as we were started. */
static void unblock(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
}

static pid_t start_verb(const struct screen *s, const char *verb, const char *word, int out_fd)
{
	const struct link_options *o = &s->options->link;
	const char *words[] = { "proctor", verb,     "--state-dir", o->state_dir ? o->state_dir : ".",
		                "--color=never", word, o->config_file ? "--config" : NULL, o->config_file, NULL };
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	unblock();
	if (out_fd >= 0) {
		int null = open("/dev/null", O_RDONLY);
		char columns[24];

		snprintf(columns, sizeof columns, "%zu", MAX(s->grid.width, (size_t)2) - 1);
		setenv("COLUMNS", columns, 1); /* as wide as the page */
		dup2(null, STDIN_FILENO);
		dup2(out_fd, STDOUT_FILENO);
		dup2(out_fd, STDERR_FILENO);
	}
	execv(o->program, (char *const *)(uintptr_t)words);
	_exit(127);
}

static void read_page(int fd, struct buf *to)
{
	uint64_t deadline_ns = clock_mono_ns() + PAGE_PATIENCE_NS, now;
	char bytes[4096];
	ssize_t n = 1;

	while (n > 0 && (now = clock_mono_ns()) < deadline_ns) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, (int)((deadline_ns - now) / NS_PER_MS)) <= 0)
			continue;
		n = read(fd, bytes, sizeof bytes);
		if (n > 0)
			buf_put(to, bytes, (size_t)n);
	}
}

/* A bare id means one's own job. */
static char *name_for_verb(const struct screen *s, struct job_key key)
{
	return key.uid == s->options->uid ? xstrdup(key.id)
	                                  : xasprintf("%u:%s", (unsigned)key.uid, key.id);
}

void screen_read(struct screen *s, const char *verb)
{
	const struct top_row *row = top_state_row(&s->state);
	int32_t job = top_state_job_of(&s->frame, row);
	cleanup(freep) char *name = NULL;
	int fds[2];
	pid_t pid;

	if (job < 0) {
		screen_show_message(s, false, "select a job first");
		return;
	}
	name = name_for_verb(s, frame_job_key(&s->frame, (size_t)job));
	if (pipe2(fds, O_CLOEXEC) < 0) {
		screen_show_message(s, true, "pipe: %s", strerror(errno));
		return;
	}
	pid = start_verb(s, verb, name, fds[1]);
	close(fds[1]);
	buf_reset(&s->state.page);
	s->state.page.max = PAGE_MAX;
	read_page(fds[0], &s->state.page);
	close(fds[0]);
	if (pid > 0) {
		kill(pid, SIGTERM);
		waitpid(pid, NULL, 0);
	}
	snprintf(s->state.page_title, sizeof s->state.page_title, "proctor %s %.100s", verb, name);
	s->state.mode = TOP_READING;
	s->state.menu = 0;
}

/* The Ctrl-C that ended the trace was for us, too. */
static void forget_interrupts(struct screen *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof info) == sizeof info)
		s->quits = s->quits || info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP;
}

void screen_trace(struct screen *s)
{
	const struct top_row *row = top_state_row(&s->state);
	char word[16], line[8];
	pid_t pid;

	if (!row || row->kind != TOP_ROW_PROC || s->state.is_past) {
		screen_show_message(s, false, "select a process that runs now");
		return;
	}
	snprintf(word, sizeof word, "%d", (int)s->frame.procs.at[row->index].pid);
	terminal_leave(&s->terminal);
	pid = start_verb(s, "trace", word, -1);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	dprintf(STDOUT_FILENO, "\nproctor: press Enter to go back to the screen\n");
	(void)!read(STDIN_FILENO, line, sizeof line);
	forget_interrupts(s);
	terminal_return(&s->terminal);
	s->is_dirty = true;
}

void screen_suspend(struct screen *s)
{
	terminal_leave(&s->terminal);
	kill(getpid(), SIGSTOP);
	terminal_return(&s->terminal);
	s->is_dirty = true;
}
