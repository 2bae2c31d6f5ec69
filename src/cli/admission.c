/* SPDX-License-Identifier: MIT */
#include "cli/admission.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/daemon_client.h"
#include "rpc/rpc_answer.h"

#define BETWEEN_SAMPLES_NS (100 * NS_PER_MS) /* stalls are a share of some time */
#define PATIENCE_MAX_NS (5 * NS_PER_S)       /* between two questions */

static void pause_for(uint64_t ns)
{
	struct timespec left = { .tv_sec = (time_t)(ns / NS_PER_S),
		                 .tv_nsec = (long)(ns % NS_PER_S) };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static int ask_daemon(const struct admission *room, const char *job_type, json_t **ret,
                      struct err *err)
{
	cleanup(buf_done) struct buf params = { 0 };
	struct json j = { .out = &params };
	struct daemon_client ask;
	int r;

	json_begin_object(&j);
	json_put_str(&j, "what", "job");
	json_put_str(&j, "job_type", job_type);
	json_put_any_u64(&j, "estimated_memory_mb", room->estimated_bytes >> 20);
	json_end_object(&j);
	r = daemon_client_open(room->socket, &ask, err);
	if (r == 0)
		r = daemon_client_call(&ask, "admit", params.at, ret, err);
	daemon_client_close(&ask);
	return r;
}

static int parse_answer(const json_t *answer, struct admission_answer *ret, struct err *err)
{
	const char *level = rpc_answer_text(answer, "pressure_level");
	const char *why = rpc_answer_text(answer, "reason");

	*ret = (struct admission_answer){ .is_from_daemon = true,
		                          .delay_ns = rpc_answer_ns(answer, "delay_seconds"),
		                          .admits_job = rpc_answer_is(answer, "allowed") };
	if (!level || !pressure_parse(level, &ret->pressure.level))
		return err_set(err, EPROTO, "the daemon's answer has no level");
	snprintf(ret->pressure.why, sizeof ret->pressure.why, "%s", why ? why : "");
	return 0;
}

static int sample_machine(struct admission *room, struct admission_answer *ret, struct err *err)
{
	const struct sampler_options options = { .no_events = true };
	const struct job_roster none = { 0 };
	struct pressure_facts facts;
	uint64_t available = 0;

	if (!room->sampler) {
		if (sampler_open(&options, &room->sampler, err) < 0)
			return -err->code;
		sampler_tick(room->sampler, &none, &room->snap);
		pause_for(BETWEEN_SAMPLES_NS);
	}
	sampler_tick(room->sampler, &none, &room->snap);
	facts = pressure_facts(&room->snap, &room->limits);
	*ret = (struct admission_answer){ .pressure = pressure_judge(&facts, room->level) };
	room->level = ret->pressure.level;
	ret->delay_ns = pressure_delay_s(room->level) * NS_PER_S;
	ret->admits_job = pressure_admits(room->level, true);
	if (!pressure_has_room(&facts, room->estimated_bytes, &available)) {
		ret->admits_job = false;
		ret->delay_ns = MAX(ret->delay_ns, pressure_delay_s(PRESSURE_MEDIUM) * NS_PER_S);
		pressure_no_room_words(room->estimated_bytes, available, ret->pressure.why);
	}
	return 0;
}

/* A daemon that never was is none that was expected, unless it was named; nor is one that has not
 * looked yet. */
static bool was_expected(const struct admission *room, int r)
{
	const char *named = getenv("PROCTOR_SOCKET");

	if (room->was_answered)
		return true;
	return r == -ENOENT ? named && *named : r != -EAGAIN;
}

/* An answer from another source than expected is announced. */
static void warn_of_change(struct admission *room, int r, const struct err *why)
{
	if (room->is_warned || !was_expected(room, r))
		return;
	if (room->was_answered)
		log_warn("the daemon no longer answers (%s); sampling the machine instead",
		         why->msg);
	else
		log_warn("%s; sampling the machine instead", why->msg);
	room->is_warned = true;
}

int admission_ask(struct admission *room, const char *job_type, struct admission_answer *ret,
                  struct err *err)
{
	json_t *answer = NULL;
	int r = ask_daemon(room, job_type, &answer, err);

	if (r == 0)
		r = parse_answer(answer, ret, err);
	if (r == 0) {
		room->was_answered = true;
		room->is_warned = false;
		room->level = ret->pressure.level;
	} else if (!room->socket) { /* if one was named, no other answer will do */
		warn_of_change(room, r, err);
		r = sample_machine(room, ret, err);
	}
	json_decref(answer);
	return r;
}

void admission_wait(struct admission *room, const char *job_type)
{
	struct admission_answer answer;
	struct err err;
	bool is_logged = false;

	for (;;) {
		if (admission_ask(room, job_type, &answer, &err) < 0) {
			log_warn("whether there is room is not known: %s", err.msg);
			return;
		}
		if (!is_logged && (answer.pressure.level != PRESSURE_NONE || !answer.admits_job))
			log_info("waiting for room: %s (%s)", answer.pressure.why,
			         pressure_name(answer.pressure.level));
		is_logged = true;
		if (answer.admits_job)
			break;
		pause_for(MIN(answer.delay_ns, PATIENCE_MAX_NS));
	}
	pause_for(answer.delay_ns);
}

void admission_done(struct admission *room)
{
	sampler_close(room->sampler);
	snapshot_done(&room->snap);
	*room = (struct admission){ 0 };
}
