/* SPDX-License-Identifier: MIT */
#include "analyze/verdict_facts.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Errors that end programs. Others, such as ENOENT, are everyday answers. */
static const char *const fatal_errors[] = { "ENOSPC", "EDQUOT", "EROFS", "EMFILE",
	                                    "ENFILE", "ENOMEM", "EFBIG" };
/* EAGAIN is fatal only where a process or thread could not be made. */
static const char *const birth_calls[] = { "clone", "clone3", "fork", "vfork" };

/* Python caches what it compiled there, and does without where it cannot. */
static const char optional_cache[] = "/__pycache__";

static bool is_listed(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

static bool is_fatal(const char *call, const char *error)
{
	if (strcmp(error, "EAGAIN") == 0)
		return is_listed(call, birth_calls, ARRAY_LEN(birth_calls));
	return is_listed(error, fatal_errors, ARRAY_LEN(fatal_errors));
}

void verdict_facts_add_process(struct verdict_facts *f, const struct process_record *p)
{
	struct verdict_death *d;

	if (!f->first.pid)
		f->first = p->id;
	if (f->members.len < VERDICT_DEATHS_MAX)
		map_put(&f->members, (uint64_t)p->id.pid, 1);
	if (!p->signal && !(p->has_exit_code && p->exit_code))
		return;
	d = vec_push(&f->deaths, VERDICT_DEATHS_MAX);
	if (!d)
		return;
	map_put(&f->death_of, proc_key(p->id), f->deaths.len - 1);
	*d = (struct verdict_death){ .id = p->id,
		                     .ppid = p->ppid,
		                     .sheet = p->sheet,
		                     .has_exit_code = p->has_exit_code,
		                     .core_dumped = p->core_dumped,
		                     .exit_code = p->exit_code,
		                     .signal = p->signal,
		                     .ended_ns = p->ended_ns };
	snprintf(d->name, sizeof d->name, "%s", p->comm ? p->comm : "");
}

static void add_exec(struct verdict_facts *f, const struct event_record *e)
{
	uint64_t at;

	if (map_get(&f->death_of, proc_key(e->process), &at))
		f->deaths.at[at].execed_ns = MAX(f->deaths.at[at].execed_ns, e->wall_ns);
}

void verdict_facts_add_event(struct verdict_facts *f, const struct event_record *e)
{
	const uint64_t kinds = UINT64_C(1) << EVENT_SIGNAL | UINT64_C(1) << EVENT_KILL |
	                       UINT64_C(1) << EVENT_OOM | UINT64_C(1) << EVENT_LIMIT |
	                       UINT64_C(1) << EVENT_DISK | UINT64_C(1) << EVENT_GPU;
	struct verdict_event *s;

	if (e->kind == EVENT_EXEC)
		add_exec(f, e);
	if (!(kinds >> e->kind & 1))
		return;
	s = vec_push(&f->events, VERDICT_EVENTS_MAX);
	if (!s) { /* the last ones explain the end */
		s = &f->events.at[VERDICT_EVENTS_MAX - 1];
		memmove(f->events.at, f->events.at + 1, (VERDICT_EVENTS_MAX - 1) * sizeof *s);
	}
	*s = (struct verdict_event){ .kind = e->kind,
		                     .at_ns = e->wall_ns,
		                     .id = e->process,
		                     .signal = e->signal,
		                     .has_sender = e->has_sender,
		                     .sender_pid = e->sender_pid,
		                     .sender_uid = e->sender_uid,
		                     .count = e->count };
	snprintf(s->sender, sizeof s->sender, "%s", e->sender_comm ? e->sender_comm : "");
	snprintf(s->name, sizeof s->name, "%s", e->name ? e->name : "");
	snprintf(s->text, sizeof s->text, "%s", e->details ? e->details : "");
}

static bool is_kind(const struct anomaly_record *a, enum anomaly_kind kind)
{
	return strcmp(a->kind, anomaly_kinds[kind].key) == 0;
}

void verdict_facts_add_anomaly(struct verdict_facts *f, const struct anomaly_record *a)
{
	if (is_kind(a, ANOMALY_FD_EXHAUSTION)) {
		f->has_fd_anomaly = true;
		f->fd_anomaly_ns = a->began_ns;
		snprintf(f->fd_anomaly, sizeof f->fd_anomaly, "%s", a->description);
	} else if (is_kind(a, ANOMALY_STALL)) {
		f->stall = (struct verdict_stall){ .began_ns = a->began_ns,
			                           .ended_ns = a->ended_ns,
			                           .severity = a->severity,
			                           .id = a->process,
			                           .sheet = a->sheet };
		text_copy(f->stall.text, sizeof f->stall.text, a->description);
	}
}

/* A program that fails of an error most often reports it. */
static bool is_message(const struct last_call_record *c)
{
	return c->text && (strncmp(c->text, "write(2", 7) == 0 ||
	                   strncmp(c->text, "writev(2", 8) == 0 ||
	                   strncmp(c->text, "sendto(2", 8) == 0);
}

void verdict_facts_add_call(struct verdict_facts *f, const struct last_call_record *c)
{
	struct verdict_error *e;

	f->has_calls = true;
	if (f->errors.len && is_message(c)) {
		e = &f->errors.at[f->errors.len - 1];
		e->is_reported |= proc_id_eq(e->id, c->process);
	}
	if (!c->text || !c->error || !c->call || !is_fatal(c->call, c->error))
		return;
	e = vec_push(&f->errors, VERDICT_ERRORS_MAX);
	if (!e)
		return;
	*e = (struct verdict_error){ .id = c->process,
		                     .at_ns = c->began_ns,
		                     .is_optional = strstr(c->text, optional_cache) };
	snprintf(e->error, sizeof e->error, "%s", c->error);
	snprintf(e->call, sizeof e->call, "%s", c->call);
	snprintf(e->text, sizeof e->text, "%s", c->text);
}

void verdict_facts_add_error(struct verdict_facts *f, const char *call, const char *error,
                             uint64_t count)
{
	struct verdict_error *e;

	f->has_calls = true;
	e = is_fatal(call, error) ? vec_push(&f->errors, VERDICT_ERRORS_MAX) : NULL;
	if (!e)
		return;
	*e = (struct verdict_error){ .count = count };
	snprintf(e->error, sizeof e->error, "%s", error);
	snprintf(e->call, sizeof e->call, "%s", call);
}

void verdict_facts_done(struct verdict_facts *f)
{
	vec_done(&f->deaths);
	vec_done(&f->events);
	vec_done(&f->errors);
	map_done(&f->members);
	map_done(&f->death_of);
}
