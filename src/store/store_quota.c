/* SPDX-License-Identifier: MIT */
#include "store/store_quota.h"

#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/store_handle.h"

#define USERS_MAX 65536 /* those beyond share the last entry */
#define WEEK_S (7 * 86400)
#define REPORT_EVERY_NS (60 * NS_PER_S)

void store_quota_open(struct store *st)
{
	struct store_quotas *q = &st->quotas;
	struct statvfs fs;
	double size;

	if (!st->is_owner || statvfs(st->path, &fs) < 0)
		return;
	size = (double)fs.f_blocks * (double)fs.f_frsize;
	q->burst_bytes = MIN((double)STORE_QUOTA_BURST_BYTES, size / 64);
	q->bytes_per_s = MIN((double)STORE_QUOTA_BYTES_PER_S, size / 4 / WEEK_S);
}

void store_quota_done(struct store_quotas *q)
{
	vec_done(&q->users);
	map_done(&q->index);
}

/* Half of the burst is free, then there is a level for each tenth. */
static enum store_quota_level level_of(double used)
{
	if (used < 0.5)
		return STORE_QUOTA_ALL;
	if (used >= 1.5)
		return STORE_QUOTA_NOTHING;
	return MIN((enum store_quota_level)((used - 0.5) * 10) + STORE_QUOTA_EVERY_2ND,
	           STORE_QUOTA_ENDS);
}

void store_quota_begin(struct store *st, const struct snapshot *snap)
{
	struct store_quotas *q = &st->quotas;
	double passed_s = (double)(snap->boot_ns - MIN(q->boot_ns, snap->boot_ns)) / 1e9;

	q->boot_ns = snap->boot_ns;
	vec_each(&q->users, u) {
		u->committed.bytes = MAX(0.0, u->committed.bytes - passed_s * q->bytes_per_s);
		u->now = u->committed;
		u->level = level_of(u->now.bytes / q->burst_bytes);
	}
	q->notice[0] = '\0';
}

void store_quota_commit(struct store *st)
{
	struct store_quotas *q = &st->quotas;

	vec_each(&q->users, u)
		u->committed = u->now;
	if (q->notice[0] && !st->notice[0])
		snprintf(st->notice, sizeof st->notice, "%s", q->notice);
}

uint32_t store_quota_payer(const struct snapshot *snap, int32_t job, uint32_t uid)
{
	uint32_t owner = job >= 0 && (size_t)job < snap->jobs.len ? snap->jobs.at[job].uid : 0;

	return owner ? owner : uid;
}

static struct store_quota *find(const struct store *st, uint32_t uid)
{
	uint64_t at;

	return st->quotas.users.len && map_get(&st->quotas.index, uid, &at)
	               ? &st->quotas.users.at[at]
	               : NULL;
}

static struct store_quota *find_or_add(struct store *st, uint32_t uid)
{
	struct store_quotas *q = &st->quotas;
	struct store_quota *u = find(st, uid);

	if (u)
		return u;
	u = vec_push(&q->users, USERS_MAX);
	if (!u)
		return &q->users.at[q->users.len - 1];
	*u = (struct store_quota){ .uid = uid };
	map_put(&q->index, uid, q->users.len - 1);
	return u;
}

void store_quota_add(struct store *st, uint32_t uid, size_t bytes)
{
	struct store_quota *u;

	if (!uid || uid == geteuid() || st->quotas.burst_bytes <= 0)
		return;
	u = find_or_add(st, uid);
	u->now.bytes += (double)bytes;
	u->level = level_of(u->now.bytes / st->quotas.burst_bytes);
}

enum store_quota_level store_quota_level(const struct store *st, uint32_t uid)
{
	const struct store_quota *u = find(st, uid);

	return u ? u->level : STORE_QUOTA_ALL;
}

bool store_quota_is_due(const struct store *st, uint32_t uid)
{
	enum store_quota_level level = store_quota_level(st, uid);

	return level < STORE_QUOTA_ENDS && st->snapshots.keyframe.at % (1 << level) == 0;
}

struct store_left_out *store_quota_losses(struct store *st, uint32_t uid)
{
	return &find_or_add(st, uid)->now.losses;
}

struct store_left_out store_quota_left_out(const struct store_quotas *q)
{
	struct store_left_out all = { 0 };

	vec_each(&q->users, u) {
		all.samples += u->committed.losses.samples;
		all.events += u->committed.losses.events;
		all.processes += u->committed.losses.processes;
	}
	return all;
}

static struct store_left_out since(const struct store_quota_use *use)
{
	const struct store_left_out *all = &use->losses, *reported = &use->reported;

	return (struct store_left_out){ .samples = all->samples - reported->samples,
		                        .events = all->events - reported->events,
		                        .processes = all->processes - reported->processes };
}

bool store_quota_next_report(struct store *st, struct store_quota_report *ret)
{
	struct store_quotas *q = &st->quotas;

	vec_each(&q->users, u) {
		struct store_left_out news = since(&u->now);

		if ((!news.samples && !news.events && !news.processes) ||
		    (u->now.reported_ns && q->boot_ns - u->now.reported_ns < REPORT_EVERY_NS))
			continue;
		*ret = (struct store_quota_report){ u->uid, news };
		u->now.reported = u->now.losses;
		u->now.reported_ns = q->boot_ns;
		return true;
	}
	return false;
}
