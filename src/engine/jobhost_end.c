/* SPDX-License-Identifier: MIT */
#include "engine/jobhost_self.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/process_reader.h"

#define LEFTOVERS_POLL_NS (50 * NS_PER_MS)

static void signal_all(struct jobhost *h, int signo)
{
	struct members *members = engine_members(h->engine);
	struct map_slot slot;
	struct err err;

	if (h->group && job_cgroup_kill(h->group, signo, &err) == 0)
		return;
	for (size_t it = 0; map_next(&members->living, &it, &slot);) {
		struct proc_id id = { (pid_t)slot.key, slot.value };
		int pidfd = (int)syscall(SYS_pidfd_open, id.pid, 0);

		if (pidfd < 0)
			continue;
		if (process_reader_exists(
			    engine_process_reader(h->engine),
			    id)) /* looked at after we hold it: it is the one we mean */
			(void)syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0);
		close(pidfd);
	}
}

uint64_t jobhost_count_living(struct jobhost *h)
{
	struct members *members = engine_members(h->engine);
	struct map_slot slot;
	uint64_t n = 0;

	for (size_t it = 0; map_next(&members->living, &it, &slot);)
		n += process_reader_is_alive(engine_process_reader(h->engine),
		                             (struct proc_id){ (pid_t)slot.key, slot.value });
	return n;
}

/* Where births are not told, somebody may be there whom no look has seen yet. */
static void meet_all(struct jobhost *h)
{
	if (sampler_tells_births(engine_sampler(h->engine)))
		engine_learn(h->engine);
	else if (launcher_has_children(h->launcher))
		engine_look(h->engine);
}

static void check_leftovers(void *self)
{
	struct jobhost *h = self;
	uint64_t now_ns = clock_mono_ns();

	launcher_reap(h->launcher);
	if (jobhost_count_living(h) == 0)
		meet_all(h);
	if (jobhost_count_living(h) == 0) {
		loop_stop(h->loop);
		return;
	}
	if (h->kill_at_ns && now_ns >= h->kill_at_ns) {
		h->kill_at_ns = now_ns + NS_PER_S;
		signal_all(h, SIGKILL);
	}
	loop_timer_set(h->leftover_timer, now_ns + LEFTOVERS_POLL_NS);
}

static void see_to_leftovers(struct jobhost *h)
{
	struct err err;

	if (h->options.kills_leftovers || is_out_of_time(h)) {
		signal_all(h, SIGTERM);
		signal_all(h, SIGCONT); /* who stands still must hear it */
		h->kill_at_ns = clock_mono_ns() + h->options.grace_ns;
	}
	if (loop_add_timer(h->loop, clock_mono_ns(), check_leftovers, h, &h->leftover_timer, &err) <
	    0)
		loop_stop(h->loop);
}

/* Nobody tells of ends: so we tell of those that we reap. */
static void tell_end(struct jobhost *h, const struct launch_end *end)
{
	struct proc_id id = { .pid = end->pid };
	struct event *e;

	if (sampler_tells_births(engine_sampler(h->engine)) ||
	    !map_get(&engine_members(h->engine)->living, (uint64_t)id.pid, &id.start_ticks))
		return;
	e = sample_add_event(sampler_sample(engine_sampler(h->engine)), EVENT_EXIT);
	if (!e)
		return;
	e->boot_ns = clock_boot_ns();
	e->id = id;
	e->has_exit_code = end->has_exit_code;
	e->exit_code = end->exit_code;
	e->signal = end->signal;
	e->core_dumped = end->core_dumped;
}

/* Who tells of ends by number alone looks up whose they are, and the command was there before
 * anybody listened: nobody remembers it. */
void jobhost_on_dying(void *self)
{
	struct jobhost *h = self;

	if (h->engine)
		engine_learn(h->engine);
}

void jobhost_on_reaped(void *self, const struct launch_end *end)
{
	struct jobhost *h = self;

	if (h->engine && sampler_is_helper(engine_sampler(h->engine), end->pid))
		return;
	accounting_reap(&h->tally, end);
	if (h->engine)
		tell_end(h, end);
}

/* We wait for what the command left behind, and somebody does not want that. */
void jobhost_on_late_signal(void *self, int signo)
{
	struct jobhost *h = self;

	if (signo != SIGINT && signo != SIGTERM && signo != SIGHUP && signo != SIGQUIT)
		return;
	if (h->kill_at_ns)
		signal_all(h, SIGKILL);
	loop_stop(h->loop);
}

void jobhost_on_ended(void *self, const struct launch_end *end)
{
	struct jobhost *h = self;

	h->end = *end;
	h->has_ended = true;
	h->ended_mono_ns = clock_mono_ns();
	h->ended_boot_ns = clock_boot_ns();
	h->ended_in_time = !is_out_of_time(h);
	meet_all(h);
	h->outlived = h->leaked = jobhost_count_living(h);
	if (h->outlived && (h->options.waits || h->options.kills_leftovers || is_out_of_time(h)))
		see_to_leftovers(h);
	else
		loop_stop(h->loop);
}

/* The time is over: everybody is asked to end, and made to after the grace. */
void jobhost_on_time_limit(void *self)
{
	struct jobhost *h = self;
	struct job *job = the_job(h);
	struct err err;

	if (is_out_of_time(h)) {
		signal_all(h, SIGKILL);
		loop_timer_set(h->limit_timer, clock_mono_ns() + NS_PER_S);
		return;
	}
	job->limits_hit |= 1u << JOB_LIMIT_TIME;
	(void)!jobhost_say(h, EVENT_LIMIT, "time", (int64_t)job->limit[JOB_LIMIT_TIME],
	                   "the time limit was reached: SIGTERM to the whole job", &err);
	signal_all(h, SIGTERM);
	signal_all(h, SIGCONT); /* who stands still must hear it */
	loop_timer_set(h->limit_timer, clock_mono_ns() + h->options.grace_ns);
}
