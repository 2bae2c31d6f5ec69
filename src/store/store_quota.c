/* SPDX-License-Identifier: MIT */
#include "store/store_quota.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include "store/store_handle.h"

#define USERS_MAX 65536 /* those beyond share the last entry */
#define WEEK_S (7 * 86400)
#define REPORT_EVERY_NS (60 * NS_PER_S)

void store_quota_open(struct store *st)
{
	struct store_quotas *f = &st->quotas;
	struct statvfs fs;
	double size;

	if (!st->is_owner || statvfs(st->path, &fs) < 0)
		return;
	size = (double)fs.f_blocks * (double)fs.f_frsize;
	f->burst_bytes = MIN((double)STORE_QUOTA_BURST_BYTES, size / 64);
	f->bytes_per_s = MIN((double)STORE_QUOTA_BYTES_PER_S, size / 4 / WEEK_S);
}

void store_quota_done(struct store_quotas *f)
{
	vec_done(&f->users);
	map_done(&f->index);
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
	struct store_quotas *f = &st->quotas;
	double passed_s = (double)(snap->boot_ns - MIN(f->boot_ns, snap->boot_ns)) / 1e9;

	f->boot_ns = snap->boot_ns;
	vec_each(&f->users, u) {
		u->bytes = MAX(0.0, u->bytes - passed_s * f->bytes_per_s);
		u->level = level_of(u->bytes / f->burst_bytes);
	}
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
	struct store_quotas *f = &st->quotas;
	struct store_quota *u = find(st, uid);

	if (u)
		return u;
	u = vec_push(&f->users, USERS_MAX);
	if (!u)
		return &f->users.at[f->users.len - 1];
	*u = (struct store_quota){ .uid = uid };
	map_put(&f->index, uid, f->users.len - 1);
	return u;
}

void store_quota_add(struct store *st, uint32_t uid, size_t bytes)
{
	struct store_quota *u;

	if (!uid || uid == geteuid() || st->quotas.burst_bytes <= 0)
		return;
	u = find_or_add(st, uid);
	u->bytes += (double)bytes;
	u->level = level_of(u->bytes / st->quotas.burst_bytes);
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
	return &find_or_add(st, uid)->losses;
}

static void add(struct store_left_out *to, const struct store_left_out *more)
{
	to->samples += more->samples;
	to->events += more->events;
	to->processes += more->processes;
}

struct store_left_out store_quota_left_out(const struct store_quotas *f)
{
	struct store_left_out all = f->left_out;

	vec_each(&f->users, u)
		add(&all, &u->losses);
	return all;
}

static uint64_t sum(const struct store_left_out *l)
{
	return l->samples + l->events + l->processes;
}

bool store_quota_next_report(struct store *st, struct store_quota *ret)
{
	struct store_quotas *f = &st->quotas;

	vec_each(&f->users, u) {
		if (!sum(&u->losses) ||
		    (u->reported_ns && f->boot_ns - u->reported_ns < REPORT_EVERY_NS))
			continue;
		*ret = *u;
		add(&f->left_out, &u->losses);
		u->losses = (struct store_left_out){ 0 };
		u->reported_ns = f->boot_ns;
		return true;
	}
	return false;
}
