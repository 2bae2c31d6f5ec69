/* SPDX-License-Identifier: MIT */
/* daemon.h - the engine for the whole machine, and a socket that answers every user. It runs in the
 * foreground; a supervisor such as systemd keeps it in the background. */
#pragma once

#include "engine/engine.h"
#include "serve/serve.h"
#include "serve/traces.h"

struct daemon_options {
	struct engine_options engine; /* its hooks are set by the daemon */
	bool is_enabled;              /* false: it answers, but records nothing */
	const char *socket_path;      /* ignored if a socket is inherited */
	/* Reads the configuration again, on SIGHUP. On failure the previous one stays in force. */
	int (*reload)(void *self, struct engine_tuning *ret, struct err *err);
	void *self;
	uint64_t pattern_interval_ns; /* between two searches for patterns */
	size_t pattern_jobs_min;      /* jobs of a type that they need */
	unsigned clients_max, clients_per_uid_max;
	struct traces_options traces; /* its spawner is set by the daemon */
};

/* Runs until SIGTERM or SIGINT. -EBUSY: the store has an owner already, -EALREADY: the socket has;
 * the message names it. */
int daemon_run(const struct daemon_options *options, struct engine_totals *ret, struct err *err)
	must_check;
