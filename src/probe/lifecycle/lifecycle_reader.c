/* SPDX-License-Identifier: MIT */
#include "probe/lifecycle/lifecycle_reader.h"

#include <signal.h>
#include <string.h>

#include "base/signal_name.h"
#include "base/text.h"
#include "model/redact.h"
#include "probe/bpf/lifecycle_record.h"
#include "probe/tasks/task_reader.h"

static_assert(LIFE_COMM_BYTES == COMM_LEN, "names are copied whole");

void lifecycle_reader_done(struct lifecycle_reader *reader)
{
	vec_done(&reader->held);
	map_done(&reader->index);
}

/* ---- exits that are held back ---------------------------------------------------------------- */

/* By the pid of the initial namespace, the only one that a reaped process still has. */
static uint64_t life_key(const struct life_head *head)
{
	return proc_key((struct proc_id){ (pid_t)head->tgid, head->start_ns / NS_PER_TICK });
}

static struct held_exit *held_find(struct lifecycle_reader *reader, uint64_t key)
{
	uint64_t at;

	return map_get(&reader->index, key, &at) ? &reader->held.at[at] : NULL;
}

/* The last one takes the place of the one that goes. */
static void held_remove(struct lifecycle_reader *reader, struct held_exit *held)
{
	struct held_exit *last = &reader->held.at[reader->held.len - 1];

	map_del(&reader->index, held->key);
	if (held != last) {
		*held = *last;
		map_put(&reader->index, held->key, (uint64_t)(held - reader->held.at));
	}
	reader->held.len--;
}

static bool is_older(const struct held_exit *held, uint64_t now_boot_ns, uint64_t age_ns)
{
	return held->exit.boot_ns + age_ns <= now_boot_ns;
}

/* In the initial namespace the record of a reaped process names its pid: nothing need be kept. */
static bool is_forgettable(const struct lifecycle_reader *reader, const struct held_exit *held,
                           uint64_t now_boot_ns)
{
	return held->is_reported &&
	       (!reader->is_nested || is_older(held, now_boot_ns, LIFECYCLE_READER_MEMORY_NS));
}

void lifecycle_reader_settle(struct lifecycle_reader *reader, uint64_t now_boot_ns,
                             struct sample *out)
{
	for (size_t i = 0; i < reader->held.len;) {
		struct held_exit *held = &reader->held.at[i];

		if (!held->is_reported &&
		    is_older(held, now_boot_ns, LIFECYCLE_READER_PATIENCE_NS)) {
			sample_put_event(out, &held->exit);
			held->is_reported = true;
		}
		if (is_forgettable(reader, held, now_boot_ns))
			held_remove(reader, held);
		else
			i++;
	}
	vec_shrink(&reader->held);
	map_shrink(&reader->index);
}

void lifecycle_reader_report(struct lifecycle_reader *reader,
                             bool (*matches)(void *, struct proc_id), void *arg, struct sample *out)
{
	vec_each(&reader->held, held) {
		if (held->is_reported || !matches(arg, held->exit.id))
			continue;
		sample_put_event(out, &held->exit);
		held->is_reported = true;
	}
}

void lifecycle_reader_give_up(struct lifecycle_reader *reader, struct sample *out)
{
	vec_each(&reader->held, held)
		if (!held->is_reported)
			sample_put_event(out, &held->exit);
	vec_reset(&reader->held);
	map_reset(&reader->index);
}

size_t lifecycle_reader_pending_totals(const struct lifecycle_reader *reader,
                                       bool (*matches)(void *, struct proc_id), void *arg)
{
	size_t n = 0;

	vec_each(&reader->held, held)
		n += !held->is_reported && matches(arg, held->exit.id);
	return n;
}

/* ---- records --------------------------------------------------------------------------------- */

static void describe(struct event *e, const struct life_head *head)
{
	e->boot_ns = head->at_ns;
	e->id = (struct proc_id){ (pid_t)head->pid, head->start_ns / NS_PER_TICK };
	e->uid = head->uid;
	memcpy(e->comm, head->comm, sizeof e->comm);
	e->comm[sizeof e->comm - 1] = '\0';
}

static struct event *add_event(struct sample *out, enum event_kind kind,
                               const struct life_head *head)
{
	struct event *e = sample_add_event(out, kind);

	if (e)
		describe(e, head);
	return e;
}

static void take_fork(const struct life_fork *r, struct sample *out)
{
	struct event *e = add_event(out, EVENT_SPAWN, &r->head);

	if (e)
		e->ppid = (pid_t)r->ppid;
}

static void take_exec(const struct life_exec *r, size_t len, struct sample *out)
{
	struct event *e = add_event(out, EVENT_EXEC, &r->head);
	char command[COMMAND_MAX];

	if (!e)
		return;
	e->caller_uid = r->caller_uid;
	len = redact_command(r->argv, MIN(r->argv_len, len - sizeof *r), command, sizeof command);
	if (r->argv_all > r->argv_len && len)
		len = text_mark_cut(command, len, sizeof command);
	e->text = sample_add_text(out, command, len);
}

/* Kernel threads have no memory of their own, and the kernel's figure for a very small process may
 * be 0. */
static void set_peak_rss(const struct lifecycle_reader *reader, uint64_t pages,
                         struct proc_readings *final)
{
	if (pages)
		readings_set(final, PROC_PEAK_RSS, pages * reader->page_bytes);
}

/* Two threads that die at once may both report the end of their process: the first counts. */
static void take_exit(struct lifecycle_reader *reader, const struct life_exit *r,
                      struct sample *out)
{
	uint64_t key = life_key(&r->head);
	struct held_exit one = { .key = key, .exit = { .kind = EVENT_EXIT, .job = -1 } };

	if (held_find(reader, key))
		return;
	if (r->is_oom_victim)
		add_event(out, EVENT_OOM, &r->head);
	describe(&one.exit, &r->head);
	event_set_status(&one.exit, r->status);
	set_peak_rss(reader, r->peak_rss_pages, &one.exit.final);
	one.exit.is_peak_bound = r->is_peak_bound;
	one.exit.life_peak_bytes = r->life_peak_pages * reader->page_bytes;

	struct held_exit *held = vec_push(&reader->held, LIFECYCLE_READER_HELD_MAX);
	if (!held) {
		sample_put_event(out, &one.exit);
		return;
	}
	*held = one;
	map_put(&reader->index, key, reader->held.len - 1);
}

/* All but the peak: the end reported that, while its memory was there. */
static void set_totals(const struct life_free *r, struct proc_readings *final)
{
	task_reader_set_counters(&r->counters, r->has_io, final);
	if (!r->counters.cpu_ns) /* no process ends without having run: 0 was not counted */
		final->present &= ~(UINT64_C(1) << PROC_CPU_TIME);
}

static void report_totals(const struct life_free *r, pid_t pid, struct sample *out)
{
	struct event *e = add_event(out, EVENT_TOTALS, &r->head);

	if (!e)
		return;
	e->id.pid = pid;
	event_set_status(e, r->status);
	set_totals(r, &e->final);
}

/* An end that was not reported came before we listened, or was given up: its totals are still
 * reported, if we know the pid by which others know the process. */
static void take_free(struct lifecycle_reader *reader, const struct life_free *r,
                      struct sample *out)
{
	struct held_exit *held = held_find(reader, life_key(&r->head));

	if (!held) {
		if (!reader->is_nested)
			report_totals(r, (pid_t)r->head.tgid, out);
		return;
	}
	if (held->is_reported) {
		report_totals(r, held->exit.id.pid, out);
	} else {
		set_totals(r, &held->exit.final);
		sample_put_event(out, &held->exit);
	}
	held_remove(reader, held);
}

static const char *const reasons[] = {
	[LIFE_FOR_STACK] = EVENT_FOR_STACK,
	[LIFE_FOR_PROTECTED] = EVENT_FOR_PROTECTED,
	[LIFE_FOR_CPU_LIMIT] = EVENT_FOR_CPU_LIMIT,
};

static void take_signal(const struct life_signal *r, struct sample *out)
{
	struct event *e = add_event(out, r->number == SIGKILL ? EVENT_KILL : EVENT_SIGNAL,
	                            &r->head);

	if (!e)
		return;
	e->signal = (int)r->number;
	if (r->reason < ARRAY_LEN(reasons) && reasons[r->reason])
		e->name = sample_add_text(out, reasons[r->reason], strlen(reasons[r->reason]));
	if (!signal_has_sender(r->code))
		return;
	e->sender_pid = r->sender_pid ? (pid_t)r->sender_pid : -1;
	e->sender_uid = r->sender_uid;
	memcpy(e->sender_comm, r->sender_comm, sizeof e->sender_comm);
	e->sender_comm[sizeof e->sender_comm - 1] = '\0';
}

static const size_t sizes[] = {
	/* at least */
	[LIFE_FORK] = sizeof(struct life_fork),     [LIFE_EXEC] = sizeof(struct life_exec),
	[LIFE_EXIT] = sizeof(struct life_exit),     [LIFE_FREE] = sizeof(struct life_free),
	[LIFE_SIGNAL] = sizeof(struct life_signal),
};

void lifecycle_reader_take(struct lifecycle_reader *reader, const void *record, size_t len,
                           struct sample *out)
{
	const struct life_head *head = record;

	if (len < sizeof *head || head->kind >= ARRAY_LEN(sizes) || !sizes[head->kind] ||
	    len < sizes[head->kind])
		reader->malformed++;
	else if (head->kind == LIFE_FORK)
		take_fork(record, out);
	else if (head->kind == LIFE_EXEC)
		take_exec(record, len, out);
	else if (head->kind == LIFE_EXIT)
		take_exit(reader, record, out);
	else if (head->kind == LIFE_FREE)
		take_free(reader, record, out);
	else
		take_signal(record, out);
}
