/* SPDX-License-Identifier: MIT */
#include "probe/gpu/gpu_link.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"

#define RETRY_MAX_NS (60 * NS_PER_S)
#define DEATH_MS 50             /* waited for the end of a helper that is not needed any more */
#define EXIT_STATUS_NS NS_PER_S /* from its socket's end to its keeper's, on a busy machine */

struct gpu_link *gpu_link_new(const struct gpu_link_options *o)
{
	struct gpu_link *l = xcalloc(1, sizeof *l);

	l->options = *o;
	l->child = GPU_CHILD_NONE;
	return l;
}

/* ---- the end of a helper ---- */

static bool is_dead(const struct gpu_link *l, int wait_ms)
{
	struct pollfd p = { .fd = l->child.pid_fd, .events = POLLIN };

	return poll(&p, 1, wait_ms) > 0;
}

static void describe_death(int status, char *to, size_t cap)
{
	if (status > 128)
		snprintf(to, cap, "its helper process was ended by signal %d (%s)", status - 128,
		         strsignal(status - 128));
	else if (status == GPU_CHILD_NOT_STARTED)
		snprintf(to, cap, "its helper process could not be started");
	else
		snprintf(to, cap, "its helper process ended with exit status %d", status);
}

static void forget_child(struct gpu_link *l)
{
	gpu_child_close(&l->child);
	l->past_cpu_ns += l->cpu_ns;
	l->cpu_ns = l->peak_bytes = 0;
	l->is_ending = l->is_closed = l->is_awaiting = l->has_answered = false;
}

static void end_child(struct gpu_link *l, int wait_ms)
{
	int status;

	if (l->child.pid <= 0)
		return;
	if (!l->is_ending)
		gpu_child_end(&l->child);
	l->is_ending = true;
	l->is_awaiting = false;
	if (is_dead(l, wait_ms)) {
		(void)gpu_child_reap(&l->child, &status);
		forget_child(l);
	}
}

/* 1 s, 4 s, 16 s, a minute. */
static uint64_t pause_ns(const struct gpu_link *l)
{
	uint64_t ns = l->options.retry_ns;

	for (unsigned i = 1; i < l->failures_in_row && ns < RETRY_MAX_NS; i++)
		ns *= 4;
	return MIN(ns, RETRY_MAX_NS);
}

static void note_failure(struct gpu_link *l, uint64_t now_ns, bool is_final, const char *why)
{
	l->failures++;
	l->failures_in_row++;
	l->is_hopeless = is_final || l->failures_in_row >= l->options.tries;
	snprintf(l->reason, sizeof l->reason, "%s", why);
	l->retry_at_ns = now_ns + (is_final ? RETRY_MAX_NS : pause_ns(l));
	end_child(l, 0);
}

static void await_exit_status(struct gpu_link *l, uint64_t now_ns)
{
	char why[160] = "its helper process does not answer any more";
	int status = 0;

	if (!is_dead(l, 0) && now_ns < l->closed_ns + EXIT_STATUS_NS)
		return;
	if (gpu_child_reap(&l->child, &status)) {
		describe_death(status, why, sizeof why);
		forget_child(l);
	}
	note_failure(l, now_ns, status == GPU_CHILD_NOT_STARTED, why);
}

static void connection_closed(struct gpu_link *l, uint64_t now_ns)
{
	l->is_closed = true;
	l->closed_ns = now_ns;
	await_exit_status(l, now_ns);
}

/* ---- requests and answers ---- */

static void keep_errors(struct gpu_link *l)
{
	for (uint32_t i = 0; i < l->report.xid_count && l->xid_count < GPU_XIDS_MAX; i++) {
		const struct gpu_xid *x = &l->report.xids[i];

		l->xids[l->xid_count++] = (struct gpu_xid){ l->report.gpus[x->gpu].index, x->code };
	}
}

static void take_report(struct gpu_link *l, uint64_t now_ns, size_t n)
{
	struct err err;

	l->is_awaiting = false;
	if (gpu_report_decode(l->bytes, n, &l->incoming, &err) < 0) {
		note_failure(l, now_ns, false, err.msg);
		return;
	}
	l->cpu_ns = MAX(l->cpu_ns, l->incoming.cpu_ns);
	l->peak_bytes = l->incoming.peak_bytes;
	if (l->incoming.verdict != GPU_REPORTED) {
		note_failure(l, now_ns, l->incoming.verdict == GPU_IMPOSSIBLE, l->incoming.text);
		return;
	}
	l->took_ns = l->has_answered ? l->incoming.took_ns : 0; /* the first one is no measure */
	l->has_answered = l->has_report = true;
	l->is_hopeless = false;
	l->failures_in_row = 0;
	l->report = l->incoming;
	keep_errors(l);
	l->answered_ns = now_ns;
}

static void take_answers(struct gpu_link *l, uint64_t now_ns)
{
	ssize_t n = recv(l->child.fd, l->bytes, sizeof l->bytes, MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		connection_closed(l, now_ns);
	else if (l->is_awaiting)
		take_report(l, now_ns, (size_t)n); /* one too large is refused by its size */
	else
		note_failure(l, now_ns, false, "its helper process answers without being asked");
}

static bool is_late(const struct gpu_link *l, uint64_t now_ns)
{
	uint64_t limit_ns = l->has_answered ? l->options.answer_ns : l->options.start_ns;

	return l->is_awaiting && now_ns > l->asked_ns && now_ns - l->asked_ns > limit_ns;
}

static void end_late(struct gpu_link *l, uint64_t now_ns)
{
	char why[80];

	snprintf(why, sizeof why, "no answer within %.1f s",
	         (double)(l->has_answered ? l->options.answer_ns : l->options.start_ns) /
	                 (double)NS_PER_S);
	note_failure(l, now_ns, false, why);
}

static void start_helper(struct gpu_link *l, uint64_t now_ns)
{
	struct err err;

	l->asked_ns = 0;
	if (gpu_child_start(l->options.program, l->options.source, &l->child, &err) < 0)
		note_failure(l, now_ns, true, err.msg);
}

static void send_request(struct gpu_link *l, uint64_t now_ns)
{
	const char request = '?';

	if (l->is_awaiting || (l->asked_ns && now_ns - l->asked_ns < l->options.gap_ns))
		return;
	if (send(l->child.fd, &request, 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) {
		connection_closed(l, now_ns);
		return;
	}
	l->is_awaiting = true;
	l->asked_ns = now_ns;
	if (!l->has_answered || l->took_ns > l->options.grace_ns)
		return;
	gpu_link_wait(l, l->options.grace_ns);
	take_answers(l, MAX(clock_mono_ns(), now_ns));
}

static bool has_child(const struct gpu_link *l)
{
	return l->child.pid > 0;
}

/* One that can be asked. */
static bool has_helper(const struct gpu_link *l)
{
	return has_child(l) && !l->is_ending && !l->is_closed;
}

void gpu_link_turn(struct gpu_link *l, uint64_t now_ns)
{
	if (l->is_ending)
		end_child(l, 0);
	else if (l->is_closed)
		await_exit_status(l, now_ns);
	if (has_helper(l))
		take_answers(l, now_ns);
	if (has_helper(l) && is_late(l, now_ns))
		end_late(l, now_ns);
	if (!has_child(l) && now_ns >= l->retry_at_ns)
		start_helper(l, now_ns);
	if (has_helper(l))
		send_request(l, now_ns);
}

void gpu_link_wait(const struct gpu_link *l, uint64_t ns)
{
	struct pollfd p = { .fd = has_helper(l) ? l->child.fd : l->child.pid_fd, .events = POLLIN };
	const struct timespec limit = { .tv_sec = (time_t)(ns / NS_PER_S),
		                        .tv_nsec = (long)(ns % NS_PER_S) };

	ppoll(&p, 1, &limit, NULL);
}

void gpu_link_free(struct gpu_link *l)
{
	if (!l)
		return;
	end_child(l, DEATH_MS);
	gpu_child_close(&l->child);
	free(l);
}

enum gpu_link_state gpu_link_state(const struct gpu_link *l)
{
	if (l->is_hopeless)
		return GPU_LINK_GAVE_UP;
	if (l->failures_in_row)
		return GPU_LINK_FAILING;
	return l->has_report ? GPU_LINK_WORKS : GPU_LINK_QUIET;
}
