/* SPDX-License-Identifier: MIT */
/* The first to claim a job id gets it. The row that holds it has no start: readers do not see it
 * until the job begins. */
#include <errno.h>
#include <string.h>

#include "model/job_numbering.h"
#include "store/store_handle.h"
#include "store/transaction.h"

struct wanted_id {
	struct store *store;
	uint32_t uid;
};

static int is_taken(void *self, const char *id, struct err *err)
{
	const struct wanted_id *w = self;
	int64_t row = job_table_find(w->store, (struct job_key){ w->uid, id }, err);

	return row < 0 ? (int)row : row > 0;
}

static int claim(struct store *st, struct job_key key, char name[JOB_ID_MAX], struct err *err)
{
	struct wanted_id wanted = { st, key.uid };
	int64_t row = job_numbering_find_free(key.id, is_taken, &wanted, name, err);

	if (row < 0)
		return (int)row;
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
