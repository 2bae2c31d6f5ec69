/* SPDX-License-Identifier: MIT */
/* The first to claim a job id gets it. The row that holds it has no start: readers do not see it
 * until the job begins. A job that its recorder claimed an id for may never begin, so the same recorder
 * gets that id again. */
#include <errno.h>
#include <string.h>

#include "model/job_numbering.h"
#include "store/store_handle.h"
#include "store/transaction.h"

struct wanted_id {
	struct store *store;
	uint32_t uid;
};

static const struct statement find_taken = {
	"SELECT id FROM job WHERE job_id = ?1 AND uid = ?2 AND (started NOTNULL OR recorder IS NOT ?3)"
};

static int is_taken(void *self, const char *id, struct err *err)
{
	const struct wanted_id *w = self;
	int64_t row = statement_int(w->store, &find_taken,
	                            BINDS(bind_text(id, JOB_ID_MAX), bind_int(w->uid),
	                                  bind_int(w->store->recorder)),
	                            err);

	return row < 0 ? (int)row : row > 0;
}

static int claim(struct store *st, struct job_key key, char name[JOB_ID_MAX], struct err *err)
{
	struct wanted_id wanted = { st, key.uid };
	int64_t row = job_numbering_find_free(key.id, is_taken, &wanted, name, err);

	key.id = name;
	if (row == 0)
		row = job_table_find(st, key, err);
	if (row == 0)
		row = job_table_add(st, key, err);
	return (int)MIN(row, (int64_t)0);
}

static int claim_once(struct store *st, uint32_t uid, char id[JOB_ID_MAX], bool *ret_changed,
                      struct err *err)
{
	char name[JOB_ID_MAX];
	/* Snapshots wait behind it, but in a recorder that only claims. */
	int r = transaction_begin(st, st->is_brief ? TRANSACTION_START_NS : TRANSACTION_WRITE_NS,
	                          err);

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
