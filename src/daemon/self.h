/* SPDX-License-Identifier: MIT */
/* self.h - what the parts of the daemon share: daemon.c runs it, answers.c is what its socket is
 * answered with. For them only. */
#pragma once

#include "daemon/daemon.h"
#include "daemon/listener.h"
#include "engine/desk.h"

struct daemon {
	const struct daemon_options *options;
	struct loop *loop;
	struct engine *engine; /* NULL: it is not enabled */
	struct desk *desk;
	struct listener listener;
	struct serve *serve;
	struct loop_source *watchdog, *news;
	uint64_t watchdog_ns;
	struct jobtab no_jobs;
	struct snapshot latest; /* ours: the one that was stored belongs to the recorder */
	bool has_latest;
	char problem[sizeof((struct err *)NULL)->msg]; /* of the last reload; "": none */
};

/* answers.c */
struct serve_host answers_host(struct daemon *d);
void answers_tier(const struct daemon *d, char ret[static JOB_TIER_MAX]);
