/* SPDX-License-Identifier: MIT */
/* daemon_self.h - what the parts of the daemon share: verb_daemon.c runs it, daemon_answers.c is what its socket is
 * answered with. For them only. */
#pragma once

#include "daemon/daemon.h"
#include "daemon/listener.h"
#include "engine/job_input.h"
#include "engine/registry.h"

struct daemon {
	const struct daemon_options *options;
	struct loop *loop;
	struct engine *engine; /* NULL: it is not enabled */
	struct listener listener;
	struct serve *serve;
	struct loop_source *watchdog, *news;
	uint64_t watchdog_ns;
	struct job_roster no_jobs;
	struct latest_snapshot latest;
	char problem[sizeof((struct err *)NULL)->msg]; /* of the last reload; "": none */
};

/* daemon_answers.c */
struct serve_host daemon_answers_host(struct daemon *d);
void daemon_answers_tier(const struct daemon *d, char ret[static JOB_TIER_MAX]);
