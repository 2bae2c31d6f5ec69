/* SPDX-License-Identifier: MIT */
#include "analyze/verdict_origin.h"

#include <signal.h>
#include <string.h>

#include "model/own_process.h"

/* A child that failed explains the failure of its parent within this time: of a signal, or of another status. */
#define SIGNAL_EXPLAINS_NS (10 * NS_PER_S)
#define STATUS_EXPLAINS_NS NS_PER_S
#define ORDER_SLACK_NS (50 * NS_PER_MS) /* ends are reported by different CPUs */
#define DEPTH_MAX 32

const struct verdict_event *verdict_origin_find_signal(const struct verdict_facts *f,
                                                       struct proc_id id, int signal)
{
	const struct verdict_event *found = NULL;

	vec_each(&f->events, s)
		if ((s->kind == EVENT_SIGNAL || s->kind == EVENT_KILL) && s->signal == signal &&
		    proc_id_eq(s->id, id) &&
		    /* a handler ends by sending the signal to itself: what others sent counts */
		    !(found && s->sender_pid == id.pid))
			found = s;
	return found;
}

static bool is_member(const struct verdict_facts *f, pid_t pid)
{
	uint64_t known;

	return pid > 0 && map_get(&f->members, (uint64_t)pid, &known);
}

bool verdict_origin_is_named(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

const char *const verdict_timeouts[] = { "timeout", "gtimeout", NULL };
const char *const verdict_shells[] = { "sh", "bash", "dash", "zsh", "ksh", "fish", NULL };

/* When one part of a job fails, the others are often ended by the job itself. */
static bool was_ended_by_job(const struct verdict_facts *f, const struct verdict_death *d)
{
	const struct verdict_event *s = d->signal ? verdict_origin_find_signal(f, d->id, d->signal)
	                                          : NULL;

	return s && s->sender_pid != d->id.pid && is_member(f, s->sender_pid) &&
	       !verdict_origin_is_named(s->sender, verdict_timeouts);
}

static struct failure_end end_of(const struct verdict_death *d)
{
	return (struct failure_end){ d->has_exit_code, d->exit_code, d->signal };
}

bool verdict_origin_is_passed_on(const struct verdict_death *child,
                                 const struct verdict_death *parent)
{
	return failure_end_is_passed_on(end_of(child), end_of(parent));
}

/* Whether the child's end may be why its parent failed. */
static bool explains(const struct verdict_facts *f, const struct verdict_death *child,
                     const struct verdict_death *parent)
{
	uint64_t before = parent->ended_ns - MIN(parent->ended_ns, child->ended_ns);

	if (child->ppid != parent->id.pid || child == parent || !child->ended_ns ||
	    child->ended_ns > parent->ended_ns + ORDER_SLACK_NS ||
	    child->ended_ns < parent->execed_ns) /* of the program that it was before */
		return false;
	if (parent->signal) /* only our own programs die as their command did */
		return own_process_has_name(parent->name) &&
		       verdict_origin_is_passed_on(child, parent);
	if (was_ended_by_job(f, child))
		return false;
	if (verdict_origin_is_passed_on(child, parent))
		return before <= SIGNAL_EXPLAINS_NS;
	/* In a shell, `yes | head` ends that way and nothing has failed. */
	if (child->signal == SIGPIPE && verdict_origin_is_named(parent->name, verdict_shells))
		return false;
	return child->signal ? before <= SIGNAL_EXPLAINS_NS
	                     : before <= STATUS_EXPLAINS_NS && parent->exit_code <= 2;
}

/* How well the child explains its parent's end. SIGTERM is how parents end their other children then. */
static int rank_of(const struct verdict_death *child, const struct verdict_death *parent)
{
	return 2 * verdict_origin_is_passed_on(child, parent) + (child->signal != SIGTERM);
}

/* The child that explains the parent's end best; the last one if several do equally well. */
static const struct verdict_death *find_child(const struct verdict_facts *f,
                                              const struct verdict_death *parent)
{
	const struct verdict_death *found = NULL;

	vec_each(&f->deaths, d) {
		int better;

		if (!explains(f, d, parent))
			continue;
		better = found ? rank_of(d, parent) - rank_of(found, parent) : 1;
		if (better > 0 || (better == 0 && d->ended_ns >= found->ended_ns))
			found = d;
	}
	return found;
}

void verdict_origin_find(const struct verdict_facts *f, struct proc_id command,
                         struct verdict_origin *ret)
{
	*ret = (struct verdict_origin){ 0 };
	vec_each(&f->deaths, d)
		if (proc_id_eq(d->id, command))
			ret->command = d;
	ret->first = ret->command;
	for (int depth = 0; ret->first && depth < DEPTH_MAX; depth++) {
		const struct verdict_death *child = find_child(f, ret->first);

		if (!child)
			break;
		ret->is_inferred |= !verdict_origin_is_passed_on(child, ret->first);
		ret->first = child;
	}
}
