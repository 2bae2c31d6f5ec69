/* SPDX-License-Identifier: MIT */
#include "cli/storage_estimate.h"

#include <math.h>

#include "base/clock.h"

struct history_storage storage_estimate(const char *path, const struct config *config)
{
	const struct config_retention *r = &config->retention;
	const struct history_keep keep = { r->full_resolution_ns, r->downsampled_ns, r->events_ns };
	struct history_storage found = { (double)NAN, (double)NAN };
	cleanup(history_closep) struct history *reader = NULL;
	struct err ignored;

	if (path && history_open(path, &reader, &ignored) == 0)
		(void)!history_storage(reader, &keep, clock_wall_ns(), &found, &ignored);
	return found;
}
