/* SPDX-License-Identifier: MIT */
#include "engine/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/process_reader.h"

#define FAILURES_TO_GIVE_WAY 3
#define REFUSALS_EVERY_NS (60 * NS_PER_S)

struct role_slot {
	const struct probe_role *role;
	const struct probe_ops *const *tier; /* the active one; *tier is NULL when none opened */
	void *self;
	char refusals[320]; /* why better tiers are not active */
	unsigned failures, failures_in_row;
	bool is_open;   /* or was tried */
	bool is_suited; /* to many processes */
};

struct sampler {
	struct probe_env env;
	struct sampler_options options;
	struct role_slot slots[ROLES_MAX];
	size_t slot_count;
	struct sample samples[2];
	struct sample *prev; /* NULL before the first tick */
	struct sample *next; /* collects events between ticks */
	bool nothing_lost;   /* since the last tick */
	bool lost_before;    /* in the tick before: samples are compared once more */
	uint64_t seq, started_boot_ns;
	uint64_t before_last_ns;           /* sampler_before_last_ns() */
	struct process_reader_hangs hangs; /* as reported */
	uint64_t refused_reported_ns;
	sampler_notice *notice;
	void *notice_self;
};

static void report_change(struct sampler *s, const char *text)
{
	sampler_add_event(s, EVENT_PROBE, 0, text);
	if (s->notice)
		s->notice(s->notice_self, text);
}

static bool has_flag(const struct role_slot *slot, enum probe_flag flag)
{
	return *slot->tier && (*slot->tier)->flags & flag;
}

static bool is_active(const struct role_slot *slot)
{
	return slot->is_open && *slot->tier;
}

/* Whether any of its tiers has the flag. */
static bool role_has(const struct probe_role *role, enum probe_flag flag)
{
	for (const struct probe_ops *const *tier = role->tiers; *tier; tier++)
		if ((*tier)->flags & flag)
			return true;
	return false;
}

bool sampler_has(const struct sampler *s, enum probe_flag flag)
{
	for (size_t i = 0; i < s->slot_count; i++)
		if (is_active(&s->slots[i]) && has_flag(&s->slots[i], flag))
			return true;
	return false;
}

static void add_refusal(struct role_slot *slot, const char *why)
{
	size_t used = strlen(slot->refusals);

	if (used && strstr(slot->refusals, why)) /* two tiers may have the same reason */
		return;
	snprintf(slot->refusals + used, sizeof slot->refusals - used, "%s%s", used ? "; " : "",
	         why);
}

/* Opens slot->tier or the first after it that works. */
static void open_tier(struct sampler *s, struct role_slot *slot)
{
	slot->is_open = true;
	for (; *slot->tier; slot->tier++) {
		struct err err = { 0 };

		if (s->options.no_bpf && has_flag(slot, PROBE_NEEDS_BPF)) {
			add_refusal(slot, "BPF is switched off");
			continue;
		}
		if (s->options.no_events && has_flag(slot, PROBE_REPORTS_BIRTHS)) {
			add_refusal(slot, "events are switched off");
			continue;
		}
		if ((*slot->tier)->open(&s->env, &slot->self, &err) == 0)
			return;
		add_refusal(slot, err.msg);
	}
}

static void close_tier(struct role_slot *slot)
{
	if (is_active(slot))
		(*slot->tier)->close(slot->self);
	slot->self = NULL;
}

static void give_way(struct sampler *s, struct role_slot *slot, const char *why)
{
	char text[400];
	const char *old = (*slot->tier)->name;

	close_tier(slot);
	slot->tier++;
	add_refusal(slot, why);
	open_tier(s, slot);
	slot->failures_in_row = 0;
	snprintf(text, sizeof text, "probe '%s' gives way to %s: %s", old,
	         *slot->tier ? (*slot->tier)->name : "none", why);
	report_change(s, text);
}

static void count_failure(struct sampler *s, struct role_slot *slot, const struct err *err)
{
	char text[400];

	slot->failures++;
	slot->failures_in_row++;
	if (slot->failures_in_row == 1) {
		snprintf(text, sizeof text,
		         "probe '%s': %s; its metrics are absent until it recovers",
		         (*slot->tier)->name, err->msg);
		report_change(s, text);
	}
	if (slot->failures_in_row >= FAILURES_TO_GIVE_WAY && slot->tier[1])
		give_way(s, slot, err->msg);
}

static void read_slot(struct sampler *s, struct role_slot *slot)
{
	struct err err = { 0 };

	if (!*slot->tier)
		return;
	s->next->events_complete = true; /* an event source that lost some clears it */
	if ((*slot->tier)->read(slot->self, s->next, &err) < 0) {
		if (has_flag(slot, PROBE_REPORTS_BIRTHS))
			s->nothing_lost = false;
		count_failure(s, slot, &err);
		return;
	}
	s->nothing_lost &= s->next->events_complete;
	if (slot->failures_in_row) {
		char text[80];

		snprintf(text, sizeof text, "probe '%s' works again", (*slot->tier)->name);
		slot->failures_in_row = 0;
		report_change(s, text);
	}
}

void sampler_await(struct sampler *s, uint64_t until_mono_ns)
{
	for (size_t i = 0; i < s->slot_count; i++) {
		struct role_slot *slot = &s->slots[i];
		struct err err = { 0 };

		while (is_active(slot) && (*slot->tier)->await &&
		       (*slot->tier)->await(slot->self, until_mono_ns, &err) < 0)
			give_way(s, slot, err.msg);
	}
}

void sampler_set_tracing(struct sampler *s, bool traces_syscalls)
{
	s->env.traces_syscalls = s->options.traces_syscalls = traces_syscalls;
	for (size_t i = 0; i < s->slot_count; i++) {
		struct role_slot *slot = &s->slots[i];

		if (!role_has(slot->role, PROBE_TRACES))
			continue;
		close_tier(slot);
		slot->tier = slot->role->tiers;
		slot->refusals[0] = '\0';
		slot->failures_in_row = 0;
		open_tier(s, slot);
	}
}

/* Where none can, the reason is why the first one was not opened. */
int sampler_trace(struct sampler *s, const pid_t *pids, size_t n, bool from_exec, struct err *err)
{
	for (size_t i = 0; i < s->slot_count; i++) {
		struct role_slot *slot = &s->slots[i];

		if (!role_has(slot->role, PROBE_TRACES))
			continue;
		if (!is_active(slot))
			return err_set(err, ENOTSUP, "%s", slot->refusals);
		return (*slot->tier)->trace(slot->self, pids, n, from_exec, err);
	}
	return err_set(err, ENOTSUP, "built without it");
}

const char *sampler_trace_caution(const struct sampler *s)
{
	for (size_t i = 0; i < s->slot_count; i++)
		if (is_active(&s->slots[i]) && (*s->slots[i].tier)->caution)
			return (*s->slots[i].tier)->caution;
	return NULL;
}

void sampler_report_living(struct sampler *s)
{
	for (size_t i = 0; i < s->slot_count; i++) {
		struct role_slot *slot = &s->slots[i];
		struct err err;

		if (is_active(slot) && (*slot->tier)->report_living &&
		    (*slot->tier)->report_living(slot->self, &err) < 0)
			report_change(s, err.msg);
	}
}

void sampler_settle(struct sampler *s, bool leaves_some)
{
	for (size_t i = 0; i < s->slot_count; i++)
		if (is_active(&s->slots[i]) && (*s->slots[i].tier)->settle)
			(*s->slots[i].tier)->settle(s->slots[i].self, leaves_some);
}

/* Reading a few processes one by one is cheaper than loading the program that visits all of them. */
#define MANY_PROCESSES 64

static void choose_tier(struct sampler *s, struct role_slot *slot)
{
	bool many = s->next->request.focus.len >= MANY_PROCESSES;

	if (!s->next->request.focus_only || !role_has(slot->role, PROBE_SUITS_MANY))
		return;
	while (!slot->is_open && !many && has_flag(slot, PROBE_SUITS_MANY))
		slot->tier++;
	if (slot->is_open && many && !slot->is_suited && !slot->refusals[0]) {
		close_tier(slot);
		slot->tier = slot->role->tiers;
		slot->is_suited = true;
		open_tier(s, slot);
	}
}

static bool brings_events(const struct role_slot *slot)
{
	return is_active(slot) && has_flag(slot, PROBE_BRINGS_EVENTS);
}

size_t sampler_fds(const struct sampler *s, int ret[static ROLES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < s->slot_count; i++)
		if (brings_events(&s->slots[i]))
			ret[n++] = (*s->slots[i].tier)->fd(s->slots[i].self);
	return n;
}

bool sampler_has_waiting(const struct sampler *s)
{
	struct pollfd waits[ROLES_MAX];
	int fds[ROLES_MAX];
	size_t n = sampler_fds(s, fds);

	for (size_t i = 0; i < n; i++)
		waits[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	return n && poll(waits, n, 0) > 0;
}

const struct sample *sampler_last(const struct sampler *s)
{
	return s->prev;
}

uint64_t sampler_before_last_ns(const struct sampler *s)
{
	return s->before_last_ns;
}

size_t sampler_drain(struct sampler *s)
{
	for (size_t i = 0; i < s->slot_count; i++)
		if (brings_events(&s->slots[i]))
			read_slot(s, &s->slots[i]);
	return s->next->events.len;
}

bool sampler_emit(struct sampler *s, const struct event *event, const char *name, const char *text)
{
	struct event *e = sample_add_event(s->next, event->kind);

	if (!e)
		return false;
	*e = *event;
	if (!e->boot_ns)
		e->boot_ns = clock_boot_ns();
	if (name)
		e->name = sample_add_text(s->next, name, strlen(name));
	if (text)
		e->text = sample_add_text(s->next, text, strlen(text));
	return true;
}

void sampler_add_event(struct sampler *s, enum event_kind kind, int64_t count, const char *text)
{
	const struct event e = { .kind = kind, .job = -1, .count = count };

	(void)sampler_emit(s, &e, NULL, text);
}

/* The sample that was just used becomes the previous one, and the one before is emptied for the next
 * tick's events. */
static void swap_samples(struct sampler *s)
{
	struct sample *oldest = s->prev ? s->prev : &s->samples[1];

	s->before_last_ns = s->prev ? s->prev->boot_ns : 0;
	s->prev = s->next;
	s->next = oldest;
	sample_reset(s->next);
	s->lost_before = !s->nothing_lost;
	s->nothing_lost = sampler_has(s, PROBE_REPORTS_BIRTHS);
}

static struct snapshot_origin origin_of(const struct sampler *s)
{
	return (struct snapshot_origin){ .seq = s->seq,
		                         .started_boot_ns = s->started_boot_ns,
		                         .pid = getpid(),
		                         .jobs_only = s->options.jobs_only };
}

static void stamp(struct sample *cur)
{
	cur->wall_ns = clock_wall_ns();
	cur->mono_ns = clock_mono_ns();
	cur->boot_ns = clock_boot_ns();
	cur->cpus = (unsigned)MAX(sysconf(_SC_NPROCESSORS_ONLN), 0);
}

void sampler_stamp_events(struct sampler *s)
{
	stamp(s->next);
	s->next->events_complete = s->nothing_lost && !s->lost_before;
	if (s->prev)
		memcpy(s->next->boot_id, s->prev->boot_id, sizeof s->next->boot_id);
}

void sampler_build_events(struct sampler *s, const struct job_roster *jobs, struct snapshot *ret)
{
	const struct snapshot_origin origin = origin_of(s);

	snapshot_build_events(s->next, jobs, &origin, ret);
	sample_reset(s->next);
}

/* Each process that hangs while it is read is reported once. */
static void report_hangs(struct sampler *s)
{
	struct process_reader_hangs now = process_reader_hangs(s->env.reader);
	uint64_t more = now.found - s->hangs.found;
	char text[200];

	if (!more)
		return;
	snprintf(text, sizeof text,
	         "process %d does not answer: reading its files in /proc hangs; they are not read "
	         "until that is over",
	         now.last);
	if (more > 1)
		snprintf(
			text, sizeof text,
			"%llu processes do not answer, %d among them: reading their files in /proc "
			"hangs; they are not read until that is over",
			(unsigned long long)more, now.last);
	s->hangs.found = now.found;
	report_change(s, text);
}

/* At once when it begins, and then once a minute. */
static void report_refusals(struct sampler *s)
{
	struct process_reader_hangs now = process_reader_hangs(s->env.reader);
	char text[200];

	if (now.refused == s->hangs.refused ||
	    (s->refused_reported_ns &&
	     s->next->mono_ns - s->refused_reported_ns < REFUSALS_EVERY_NS))
		return;
	snprintf(
		text, sizeof text,
		"too many processes of user %u do not answer: others of this user are not read either "
		"until that is over (%llu reads left out)",
		now.refused_uid, (unsigned long long)(now.refused - s->hangs.refused));
	s->hangs.refused = now.refused;
	s->refused_reported_ns = s->next->mono_ns;
	report_change(s, text);
}

void sampler_read(struct sampler *s, unsigned want)
{
	struct sample *cur = s->next;

	stamp(cur);
	cur->request.want = want;
	cur->last = s->prev;
	for (size_t i = 0; i < s->slot_count; i++) {
		choose_tier(s, &s->slots[i]);
		if (!s->slots[i].is_open)
			open_tier(s, &s->slots[i]);
		read_slot(s, &s->slots[i]);
	}
	report_hangs(s);
	report_refusals(s);
	cur->last = NULL;
	/* The lost events may have happened after this sample was read, so one loss makes two ticks
	 * incomplete. */
	cur->events_complete = s->nothing_lost && !s->lost_before;
}

void sampler_build(struct sampler *s, const struct job_roster *jobs, struct snapshot *ret)
{
	struct snapshot_origin origin;

	s->seq++;
	origin = origin_of(s);
	snapshot_build(s->prev, s->next, jobs, &origin, ret);
	swap_samples(s);
}

void sampler_tick(struct sampler *s, const struct job_roster *jobs, struct snapshot *ret)
{
	sampler_read(s, WANT_ALL);
	sampler_build(s, jobs, ret);
}

int sampler_open(const struct sampler_options *options, struct sampler **ret, struct err *err)
{
	cleanup(sampler_closep) struct sampler *s = xcalloc(1, sizeof *s);
	const char *root = options->root ? options->root : "/";

	s->env.root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->env.root_fd < 0)
		return err_set(err, errno, "open '%s': %s", root, strerror(errno));
	s->env.reader = process_reader_new(s->env.root_fd);
	if (options->jobs_only) /* peers of a daemon are users of its namespace */
		process_reader_show_outer_users(s->env.reader);
	s->env.is_live = strcmp(root, "/") == 0;
	s->env.group_is_ours = options->group_is_ours;
	s->env.gpu_helper = options->gpu_helper;
	s->env.gpu_insist = options->gpu_insist;
	s->env.traces_syscalls = options->traces_syscalls;
	s->env.strace_dirs = options->strace_dirs;
	s->env.flight_calls = options->flight_calls;
	s->env.starts_fast = options->jobs_only;
	s->options = *options;
	s->next = &s->samples[0];
	s->started_boot_ns = clock_boot_ns();
	for (const struct probe_role *role = options->roles ? options->roles : probe_roles;
	     role->name && s->slot_count < ROLES_MAX; role++) {
		struct role_slot *slot = &s->slots[s->slot_count++];

		slot->role = role;
		slot->tier = role->tiers;
		if (!options->jobs_only || role_has(role, PROBE_OPENS_EARLY))
			open_tier(s, slot);
	}
	s->nothing_lost = sampler_has(s, PROBE_REPORTS_BIRTHS);
	*ret = TAKE_PTR(s);
	return 0;
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->slot_count; i++)
		close_tier(&s->slots[i]);
	process_reader_free(s->env.reader);
	sample_done(&s->samples[0]);
	sample_done(&s->samples[1]);
	closep(&s->env.root_fd);
	free(s);
}

void sampler_on_notice(struct sampler *s, sampler_notice *notice, void *self)
{
	s->notice = notice;
	s->notice_self = self;
}

struct process_reader *sampler_process_reader(const struct sampler *s)
{
	return s->env.reader;
}

const struct sample *sampler_sample(const struct sampler *s)
{
	return s->next;
}

struct sample_request *sampler_request(struct sampler *s)
{
	return &s->next->request;
}

void sampler_discard(struct sampler *s)
{
	sample_reset(s->next);
}

size_t sampler_pending_totals(struct sampler *s, bool (*matches)(void *, struct proc_id),
                              void *self, bool now)
{
	size_t pending = 0;

	for (size_t i = 0; i < s->slot_count; i++) {
		struct role_slot *slot = &s->slots[i];

		if (is_active(slot) && has_flag(slot, PROBE_REPORTS_TOTALS))
			pending += (*slot->tier)
			                   ->pending_totals(slot->self, s->next, matches, self,
			                                    now);
	}
	return pending;
}

static void slot_health(const struct role_slot *slot, struct role_health *ret)
{
	*ret = (struct role_health){ .role = slot->role->name, .failures = slot->failures };
	if (!*slot->tier) {
		ret->health.state = PROBE_ABSENT;
		snprintf(ret->health.note, sizeof ret->health.note, "%s%s%s", slot->refusals,
		         slot->role->lost_without ? "; lost: " : "",
		         slot->role->lost_without ? slot->role->lost_without : "");
		return;
	}
	ret->tier = (*slot->tier)->name;
	(*slot->tier)->health(slot->self, &ret->health);
	if (slot->refusals[0] && ret->health.state == PROBE_WORKS) {
		char gives[sizeof ret->health.note];

		memcpy(gives, ret->health.note, sizeof gives);
		ret->health.state = PROBE_DEGRADED;
		snprintf(ret->health.note, sizeof ret->health.note, "%.160s; %.230s", gives,
		         slot->refusals);
	}
}

size_t sampler_health(const struct sampler *s, struct role_health ret[static ROLES_MAX])
{
	for (size_t i = 0; i < s->slot_count; i++)
		slot_health(&s->slots[i], &ret[i]);
	return s->slot_count;
}
