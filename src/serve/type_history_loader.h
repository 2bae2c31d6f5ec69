/* SPDX-License-Identifier: MIT */
/* type_history_loader.h - what earlier runs of a job's type used, read once, on the store worker's thread. */
#pragma once

#include "model/type_history.h"
#include "serve/store_worker.h"

struct type_history_loader {
	const char *db_path; /* borrowed; NULL: nothing is recorded */
	const struct job *job; /* whose type it is; only borrowed during the call */
	/* On the loop; not called if there is nothing to learn from. */
	void (*found)(void *self, job_handle job, const struct type_history *past);
	void *self;
};

/* Runs of the same user and type that went well, the newest; of a type that was not given by name only those with the
 * same options in their command line. */
int type_history_loader_start(struct store_worker *worker, const struct type_history_loader *how,
                              struct err *err) must_check;
