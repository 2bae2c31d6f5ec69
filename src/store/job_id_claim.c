/* SPDX-License-Identifier: MIT */
/* The first to claim a job id gets it. The row that holds it has no start: readers do not see it
 * until the job begins. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/store_handle.h"

#define CLAIM_MAX (1U << 30)

/* ID, ID.2, ID.3 …; a long id is cut to make room for the number. */
static void name_of(const char *id, uint32_t number, char to[JOB_ID_MAX])
{
	char end[16] = "";
	int len;

	if (number > 1)
		snprintf(end, sizeof end, ".%u", number);
	len = (int)MIN(strlen(id), JOB_ID_MAX - 1 - strlen(end));
	snprintf(to, JOB_ID_MAX, "%.*s%s", len, id, end);
}

/* 1, 0, or -errno. */
static int is_taken(struct store *st, struct job_key key, uint32_t number, struct err *err)
{
	char name[JOB_ID_MAX];
	int64_t row;

	name_of(key.id, number, name);
	row = job_table_find(st, (struct job_key){ key.uid, name }, err);
	return row < 0 ? (int)row : row > 0;
}

/* Numbers are given without gaps, so the first free one is found by doubling and halving: claiming
 * the same id again and again must not take longer each time. */
static int find_free(struct store *st, struct job_key key, uint32_t *ret, struct err *err)
{
	uint32_t taken = 0, free = 1;
	int r;

	while ((r = is_taken(st, key, free, err)) > 0 && free < CLAIM_MAX) {
		taken = free;
		free *= 2;
	}
	while (r >= 0 && free - taken > 1) {
		uint32_t middle = taken + (free - taken) / 2;

		r = is_taken(st, key, middle, err);
		if (r > 0)
			taken = middle;
		else
			free = middle;
	}
	*ret = free;
	return MIN(r, 0);
}

static int claim(struct store *st, struct job_key key, char name[JOB_ID_MAX], struct err *err)
{
	uint32_t number;
	int64_t row = find_free(st, key, &number, err);

	if (row < 0)
		return (int)row;
	name_of(key.id, number, name);
	row = job_table_add(st, (struct job_key){ key.uid, name }, err);
	return row < 0 ? (int)row : 0;
}

static int claim_once(struct store *st, uint32_t uid, char id[JOB_ID_MAX], bool *ret_changed,
                      struct err *err)
{
	char name[JOB_ID_MAX];
	int r = transaction_begin(st, TRANSACTION_START_NS, err);

	if (r < 0)
		return r;
	r = transaction_end(st, claim(st, (struct job_key){ uid, id }, name, err), err);
	if (r < 0) {
		job_table_roll_back(st);
		return r;
	}
	*ret_changed = strcmp(name, id) != 0;
	memcpy(id, name, strlen(name) + 1);
	return 0;
}

int store_claim_job_id(struct store *st, uint32_t uid, char id[JOB_ID_MAX], bool *ret_changed,
                       struct err *err)
{
	int r = claim_once(st, uid, id, ret_changed, err);

	if (r != -EUCLEAN && r != -ESTALE)
		return r;
	r = store_recover(st, r, err);
	return r < 0 ? r : claim_once(st, uid, id, ret_changed, err);
}
