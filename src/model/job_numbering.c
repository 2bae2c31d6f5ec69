/* SPDX-License-Identifier: MIT */
#include "model/job_numbering.h"

#include <stdio.h>
#include <string.h>

#define NUMBER_MAX (1U << 30)

static void put_name(const char *id, uint32_t number, char to[static JOB_ID_MAX])
{
	char end[16] = "";
	int len;

	if (number > 1)
		snprintf(end, sizeof end, ".%u", number);
	len = (int)MIN(strlen(id), JOB_ID_MAX - 1 - strlen(end));
	snprintf(to, JOB_ID_MAX, "%.*s%s", len, id, end);
}

/* By doubling and halving. */
int job_numbering_find_free(const char *id,
                            int (*is_taken)(void *self, const char *id, struct err *err),
                            void *self, char ret[static JOB_ID_MAX], struct err *err)
{
	uint32_t taken = 0, free = 1;
	char name[JOB_ID_MAX];
	int r;

	put_name(id, free, name);
	while ((r = is_taken(self, name, err)) > 0 && free < NUMBER_MAX) {
		taken = free;
		free *= 2;
		put_name(id, free, name);
	}
	while (r >= 0 && free - taken > 1) {
		uint32_t middle = taken + (free - taken) / 2;

		put_name(id, middle, name);
		r = is_taken(self, name, err);
		if (r > 0)
			taken = middle;
		else
			free = middle;
	}
	if (r >= 0)
		put_name(id, free, ret);
	return MIN(r, 0);
}
