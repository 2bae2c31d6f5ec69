/* SPDX-License-Identifier: MIT */
/* daemon_self.h - what the parts of the daemon share: verb_daemon.c runs it, daemon_answers.c is what its socket is
 * answered with. For them only. */
#pragma once

#include "daemon/daemon.h"
#include "daemon/listener.h"
#include "engine/registry.h"
#include "serve/engine_host.h"

struct daemon {
	const struct daemon_options *options;
	struct loop *loop;
	struct engine_host host; /* without an engine when it is not enabled */
	struct listener listener;
	struct serve *serve;
	struct loop_source *watchdog, *news;
	uint64_t watchdog_ns;
	char problem[sizeof((struct err *)NULL)->msg]; /* of the last reload; "": none */
};

/* daemon_answers.c */
struct serve_host daemon_answers_host(struct daemon *d);
void daemon_answers_tier(const struct daemon *d, char ret[static JOB_TIER_MAX]);
