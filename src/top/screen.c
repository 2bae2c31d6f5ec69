/* SPDX-License-Identifier: MIT */
#include "top/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "top/screen_inside.h"

#define MESSAGE_NS (6 * NS_PER_S)
#define RECONNECT_NS NS_PER_S
#define KEYS_AT_ONCE 64 /* then the screen is drawn */

void screen_show_message(struct screen *s, bool is_bad, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->state.message, sizeof s->state.message, fmt, ap);
	va_end(ap);
	s->state.is_bad = is_bad;
	s->message_until_ns = clock_mono_ns() + MESSAGE_NS;
	s->is_dirty = true;
}

void screen_arrange(struct screen *s)
{
	top_state_arrange(&s->state, &s->frame);
	s->is_dirty = true;
}

/* They are known of now only. */
static void read_waits(struct screen *s)
{
	pid_t pids[TOP_WAITING_MAX];

	s->state.wait_words = s->state.is_past ? NULL : &s->waits.of;
	if (!s->state.is_past)
		wait_words_read(&s->waits, pids,
		                top_view_waiting(&s->frame, &s->state, &s->grid, pids));
}

static void draw(struct screen *s)
{
	size_t width, height;
	struct canvas canvas;

	terminal_size(&width, &height);
	grid_begin(&s->grid, width, height, s->terminal.unicode);
	top_view_scroll(&s->state, &s->grid);
	read_waits(s);
	top_view(&s->frame, &s->state, true, &s->grid, &s->layout);
	canvas = terminal_canvas(&s->terminal);
	grid_show(&s->grid, &canvas);
	terminal_show(&s->terminal);
	s->is_dirty = false;
}

/* ---- live ------------------------------------------------------------------------------------ */

/* Requests what the selected process waits for, with the next frame. */
static void choose_context(struct screen *s)
{
	const struct top_row *row = top_state_row(&s->state);

	s->link.context_of = row && row->kind == TOP_ROW_PROC ? s->frame.procs.at[row->index].pid : 0;
}

/* It may be made by the first job that is started meanwhile. */
static void find_store(struct screen *s)
{
	s->state.has_store = s->options->store && access(s->options->store, R_OK) == 0;
}

static void take_frame(struct screen *s)
{
	const struct job_key *only = &s->options->job;

	if (s->state.is_past || s->state.is_paused)
		return;
	link_fill(&s->link, only->id ? only : NULL, &s->frame);
	wait_words_forget(&s->waits);
	find_store(s);
	s->state.blocked_pid = s->link.context_of;
	link_blocked(&s->link, s->state.blocked, sizeof s->state.blocked);
	top_state_note(&s->state, &s->frame);
	screen_arrange(s);
	choose_context(s);
}

/* The last screen stays, with a message. */
static void lose(struct screen *s, const struct err *err)
{
	bool was_daemon = s->link.source == FRAME_DAEMON;

	link_close(&s->link);
	snprintf(s->state.trouble, sizeof s->state.trouble, "%s; trying again",
	         was_daemon ? "the daemon is gone" : "own sampling failed");
	(void)err;
	s->connect_ns = clock_mono_ns() + RECONNECT_NS;
	s->is_dirty = true;
}

static void connect_again(struct screen *s)
{
	bool only_daemon = s->link.source == FRAME_DAEMON;
	struct err err;

	s->connect_ns = 0;
	if (link_open(&s->link, only_daemon, &err) < 0) {
		s->connect_ns = clock_mono_ns() + RECONNECT_NS;
		return;
	}
	s->state.trouble[0] = '\0';
	s->is_dirty = true;
}

static void read_link(struct screen *s)
{
	struct err err;
	int r;

	if (!s->link.client)
		return;
	while ((r = link_read(&s->link, &err)) > 0) {
		uint64_t now = clock_mono_ns();

		/* A daemon may tick more often than was asked for. */
		if (now + s->options->link.interval_ns / 10 < s->due_ns)
			continue;
		s->due_ns = now + s->options->link.interval_ns;
		take_frame(s);
	}
	if (r < 0)
		lose(s, &err);
}

/* ---- the past -------------------------------------------------------------------------------- */

static bool open_past(struct screen *s, struct err *err)
{
	if (s->has_past)
		return true;
	s->has_past = past_open(&s->past, s->options, err) == 0;
	return s->has_past;
}

void screen_show_past(struct screen *s)
{
	struct err err;

	if (past_read_frame(&s->past, &s->frame, &err) < 0) {
		screen_show_message(s, true, "%s", err.msg);
		return;
	}
	past_place(&s->past, s->state.place, sizeof s->state.place);
	past_trail(&s->past, &s->state);
	top_state_note(&s->state, &s->frame);
	screen_arrange(s);
	past_trail_of_row(&s->past, &s->frame, &s->state);
}

bool screen_enter_past(struct screen *s, uint64_t back_ns)
{
	uint64_t now = clock_wall_ns();
	struct err err;

	s->past_since_ns = now - MIN(back_ns, now);
	if (!open_past(s, &err) || past_load(&s->past, s->past_since_ns, &err) < 0) {
		screen_show_message(s, true, "no time travel: %s", err.msg);
		return false;
	}
	s->state.is_past = true;
	s->state.is_paused = false;
	screen_show_past(s);
	return true;
}

void screen_leave_past(struct screen *s)
{
	s->state.is_past = s->state.is_paused = false;
	s->state.place[0] = '\0';
	top_state_forget_trails(&s->state);
	screen_show_message(s, false, "back to now");
}

/* At the end there may be something new: recording goes on. */
void screen_step(struct screen *s, long by)
{
	size_t last = s->past.moments.len - 1;
	struct err err;

	if (by > 0 && s->past.at == last) {
		uint64_t at_ns = s->past.moments.at[last].wall_ns;

		if (past_load(&s->past, s->past_since_ns, &err) < 0) {
			screen_show_message(s, true, "%s", err.msg);
			return;
		}
		(void)past_goto(&s->past, at_ns);
	}
	if (past_step(&s->past, by))
		screen_show_past(s);
	else
		screen_show_message(s, false,
		                    by > 0 ? "this is the latest sample"
		                           : "this is the first sample");
}

/* ---- signals --------------------------------------------------------------------------------- */

static int catch_signals(struct screen *s, struct err *err)
{
	static const int caught[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(caught); i++)
		sigaddset(&set, caught[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_set(err, errno, "block signals: %s", strerror(errno));
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? err_set(err, errno, "signalfd: %s", strerror(errno)) : 0;
}

static void read_signals(struct screen *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGTSTP) {
			screen_suspend(s);
		} else if (info.ssi_signo == SIGCONT) {
			terminal_return(&s->terminal);
			s->is_dirty = true;
		} else if (info.ssi_signo == SIGWINCH) {
			s->is_dirty = true;
		} else {
			s->quits = true;
		}
	}
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int time_left(const struct screen *s)
{
	uint64_t now = clock_mono_ns(), next = now + 60 * NS_PER_S;

	if (s->state.message[0])
		next = MIN(next, s->message_until_ns);
	if (s->connect_ns)
		next = MIN(next, s->connect_ns);
	return next > now ? (int)((next - now) / NS_PER_MS + 1) : 0;
}

static void on_time(struct screen *s)
{
	uint64_t now = clock_mono_ns();

	if (s->state.message[0] && now >= s->message_until_ns) {
		s->state.message[0] = '\0';
		s->is_dirty = true;
	}
	if (s->connect_ns && now >= s->connect_ns)
		connect_again(s);
}

static void read_keys(struct screen *s)
{
	for (int i = 0; i < KEYS_AT_ONCE && !s->quits; i++) {
		struct terminal_event e = terminal_read();

		if (e.key == KEY_NOTHING)
			return;
		s->is_dirty = true;
		screen_key(s, e);
	}
}

static void run(struct screen *s)
{
	while (!s->quits) {
		struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
			                { .fd = s->signal_fd, .events = POLLIN },
			                { .fd = link_fd(&s->link), .events = POLLIN } };

		if (s->is_dirty)
			draw(s);
		if (poll(fds, ARRAY_LEN(fds), time_left(s)) < 0 && errno != EINTR)
			return;
		read_signals(s);
		if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			return; /* the terminal is gone */
		if (fds[0].revents)
			read_keys(s);
		if (fds[2].revents)
			read_link(s);
		on_time(s);
	}
}

static int begin(struct screen *s, struct err *err)
{
	const struct top_options *o = s->options;

	s->link.options = o->link;
	s->link.options.is_quiet = true;
	s->state.job = o->job.id;
	s->state.user_name = user_names_name;
	s->state.users = &s->users;
	find_store(s);
	frame_reset(&s->frame);
	if (catch_signals(s, err) < 0 || link_open(&s->link, false, err) < 0 ||
	    terminal_open(&s->terminal, o->style.unicode, o->style.color, err) < 0)
		return -err->code;
	s->is_dirty = true;
	if (o->history_ns != UINT64_MAX)
		(void)screen_enter_past(s, o->history_ns);
	return 0;
}

int screen_run(const struct top_options *o)
{
	struct screen s = { .options = o, .signal_fd = -1 };
	struct err err;
	int r = begin(&s, &err);

	if (r == 0)
		run(&s);
	terminal_close(&s.terminal);
	link_close(&s.link);
	if (s.has_past)
		past_close(&s.past);
	frame_done(&s.frame);
	grid_done(&s.grid);
	top_state_done(&s.state);
	user_names_done(&s.users);
	wait_words_done(&s.waits);
	closep(&s.signal_fd);
	if (r < 0)
		dprintf(STDERR_FILENO, "proctor: %s\n", err.msg);
	return r < 0;
}
