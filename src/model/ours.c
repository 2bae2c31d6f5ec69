/* SPDX-License-Identifier: MIT */
#include "model/ours.h"

#include <stddef.h>
#include <string.h>

#include "base/defs.h"

bool ours_is_helper(const char *comm)
{
	static const char *const names[] = { OURS_WITNESS, OURS_WAKER, OURS_GPU, OURS_EAR };

	if (strncmp(comm, OURS_NAME "-", strlen(OURS_NAME "-")) != 0)
		return false; /* as most are: asked of every process at every look */
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(comm, names[i]) == 0)
			return true;
	return false;
}

bool ours_is_one(const char *comm)
{
	return strcmp(comm, OURS_NAME) == 0 || ours_is_helper(comm);
}
