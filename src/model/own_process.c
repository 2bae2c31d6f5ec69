/* SPDX-License-Identifier: MIT */
#include "model/own_process.h"

#include <stddef.h>
#include <string.h>

#include "base/defs.h"

#define MOST_BYTES (UINT64_C(128) << 20) /* with sanitizers, too */

static bool is_helper(const char *comm)
{
	static const char *const names[] = { OURS_DETECTOR, OURS_WAKER, OURS_GPU,
		                             OURS_CAPTURE,  OURS_TRACE, OURS_NETLINK, OURS_HOOK };

	if (strncmp(comm, OURS_NAME "-", strlen(OURS_NAME "-")) != 0)
		return false; /* the usual case: this is called for every process at every tick */
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(comm, names[i]) == 0)
			return true;
	return false;
}

bool own_process_has_name(const char *comm)
{
	return strcmp(comm, OURS_NAME) == 0 || is_helper(comm);
}

bool own_process_is_small(const char *comm, uint64_t rss_bytes)
{
	return rss_bytes <= MOST_BYTES && own_process_has_name(comm);
}
