/* SPDX-License-Identifier: MIT */
/* daemon.h - the engine for the whole machine, day and night, and a socket that everybody may ask.
 * In the foreground: who wants it in the background has a supervisor. */
#pragma once

#include "engine/engine.h"
#include "serve/serve.h"

struct daemon_options {
	struct engine_options engine; /* its hooks are the daemon's */
	bool is_enabled;              /* false: it answers, and looks at nothing */
	const char *socket_path;      /* not looked at when a socket is inherited */
	/* What the configuration says now: for SIGHUP. -errno and why: the one before stays. */
	int (*reload)(void *self, struct engine_tuning *ret, struct err *err);
	void *self;
	unsigned clients_max, clients_per_uid_max;
};

/* Until SIGTERM or SIGINT. -EBUSY: the store has an owner, -EALREADY: the socket has; the message
 * names it. *ret is what was done. */
int daemon_run(const struct daemon_options *options, struct engine_totals *ret, struct err *err)
	must_check;
