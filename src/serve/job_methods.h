/* SPDX-License-Identifier: MIT */
/* job_methods.h - the table of methods that a job's door answers. */
#pragma once

#include "rpc/server.h"
#include "serve/recent.h"
#include "serve/serve.h"

/* What the methods are given as their self. */
struct job_methods {
	struct serve_host host;
	struct recent recent;
	uint64_t opened_mono_ns;
};

extern const struct server_method job_methods[]; /* the last has no name */
