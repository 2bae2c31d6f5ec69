/* SPDX-License-Identifier: MIT */
#include "cli/anomaly_hook.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/signal_name.h"
#include "cli/hook_keeper.h"
#include "model/history_record.h"
#include "model/record_fields.h"

#define WAITING_MAX 16 /* anomalies, that of the hook that runs included */

struct anomaly_hook {
	int fd; /* -1: the keeper is gone */
	struct loop_source *reader;
	void (*notice)(void *self, const char *text);
	void *self;
	unsigned waiting;
	uint64_t dropped;
	bool has_failed;
};

struct anomaly_hook *anomaly_hook_new(const char *command,
                                      void (*notice)(void *self, const char *text), void *self,
                                      struct err *err)
{
	struct anomaly_hook *h;
	int ends[2];
	pid_t keeper;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		(void)err_set(err, errno, "cannot make a socket for --on-anomaly");
		return NULL;
	}
	keeper = hook_keeper_start(command, ends[1], err);
	close(ends[1]);
	if (keeper < 0) {
		close(ends[0]);
		return NULL;
	}
	h = xcalloc(1, sizeof *h);
	*h = (struct anomaly_hook){ .fd = ends[0], .notice = notice, .self = self };
	return h;
}

/* ---- how hooks end ------------------------------------------------------------------------------ */

static void put_reason(const struct hook_end *end, struct buf *to)
{
	if (end->error)
		buf_printf(to, "it cannot be started: %s", strerrordesc_np(end->error));
	else if (end->timed_out)
		buf_printf(to, "it was not over after %d s, and was killed",
		           (int)(HOOK_LIMIT_NS / NS_PER_S));
	else if (WIFSIGNALED(end->status))
		buf_printf(to, "it was killed by signal %d", WTERMSIG(end->status));
	else
		buf_printf(to, "exit status %d", WEXITSTATUS(end->status));
	if (end->stderr_line[0])
		buf_printf(to, " (%.*s)", (int)strnlen(end->stderr_line, sizeof end->stderr_line),
		           end->stderr_line);
}

/* Once is enough: most often the next ones fail alike. */
static void report(struct anomaly_hook *h, const struct hook_end *end)
{
	cleanup(buf_done) struct buf text = { 0 };
	bool is_good = !end->error && !end->timed_out && end->status == 0;

	if (is_good || h->has_failed)
		return;
	h->has_failed = true;
	buf_puts(&text, "the command of --on-anomaly failed: ");
	put_reason(end, &text);
	h->notice(h->self, text.at);
}

static void close_socket(struct anomaly_hook *h)
{
	loop_remove(TAKE_PTR(h->reader));
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

/* False: no more answers come now. */
static bool read_answer(struct anomaly_hook *h)
{
	struct hook_end end;
	ssize_t n = h->fd < 0 ? -1 : recv(h->fd, &end, sizeof end, MSG_DONTWAIT);

	if (n == (ssize_t)sizeof end) {
		h->waiting -= h->waiting > 0;
		report(h, &end);
		return true;
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_socket(h); /* its helper process was killed */
	return false;
}

static void on_answer(void *self)
{
	while (read_answer(self))
		;
}

void anomaly_hook_watch(struct anomaly_hook *h, struct loop *loop)
{
	struct err ignored; /* the answers are read at the end then */

	if (h && h->fd >= 0)
		(void)!loop_add_reader(loop, h->fd, on_answer, h, &h->reader, &ignored);
}

/* ---- what they get ------------------------------------------------------------------------------ */

static bool pass(struct anomaly_hook *h, const struct snapshot *snap, const struct anomaly *a)
{
	cleanup(buf_done) struct buf text = { 0 };
	cleanup(buf_done) struct buf line = { 0 };
	struct anomaly_record record = history_record_of_anomaly(a, snap, &text);
	struct json j = { .out = &line };

	field_table_json_object(&j, &anomaly_fields, &record);
	buf_putc(&line, '\n');
	return h->fd >= 0 && h->waiting < WAITING_MAX && line.len <= HOOK_INPUT_MAX &&
	       send(h->fd, line.at, line.len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)line.len;
}

void anomaly_hook_take(struct anomaly_hook *h, const struct snapshot *snap)
{
	if (!h)
		return;
	vec_each(&snap->anomalies, a) {
		if (a->news != ANOMALY_BEGAN)
			continue;
		if (pass(h, snap, a))
			h->waiting++;
		else
			h->dropped++;
	}
}

void anomaly_hook_end(struct anomaly_hook *h)
{
	cleanup(buf_done) struct buf text = { 0 };

	if (!h)
		return;
	on_answer(h);
	if (h->dropped) {
		buf_printf(&text,
		           "the command of --on-anomaly was not run for %llu of the anomalies: %s",
		           (unsigned long long)h->dropped,
		           h->fd < 0 ? "its helper process was killed" : "too many waited for it");
		h->notice(h->self, text.at);
	}
	close_socket(h);
	free(h);
}
