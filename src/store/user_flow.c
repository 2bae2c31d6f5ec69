/* SPDX-License-Identifier: MIT */
#include "store/user_flow.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include "store/store_handle.h"

#define USERS_MAX 65536 /* those beyond share the last entry */
#define WEEK_S (7 * 86400)
#define REPORT_EVERY_NS (60 * NS_PER_S)

void user_flow_open(struct store *st)
{
	struct user_flows *f = &st->flows;
	struct statvfs fs;
	double size;

	if (!st->is_owner || statvfs(st->path, &fs) < 0)
		return;
	size = (double)fs.f_blocks * (double)fs.f_frsize;
	f->burst_bytes = MIN((double)USER_FLOW_BURST_BYTES, size / 64);
	f->bytes_per_s = MIN((double)USER_FLOW_BYTES_PER_S, size / 4 / WEEK_S);
}

void user_flow_done(struct user_flows *f)
{
	vec_done(&f->users);
	map_done(&f->index);
}

/* Half of the burst is free, then there is a level for each tenth. */
static enum user_flow_level level_of(double used)
{
	if (used < 0.5)
		return USER_FLOW_ALL;
	if (used >= 1.5)
		return USER_FLOW_NOTHING;
	return MIN((enum user_flow_level)((used - 0.5) * 10) + USER_FLOW_EVERY_2ND, USER_FLOW_ENDS);
}

void user_flow_begin(struct store *st, const struct snapshot *snap)
{
	struct user_flows *f = &st->flows;
	double passed_s = (double)(snap->boot_ns - MIN(f->boot_ns, snap->boot_ns)) / 1e9;

	f->boot_ns = snap->boot_ns;
	vec_each(&f->users, u) {
		u->bytes = MAX(0.0, u->bytes - passed_s * f->bytes_per_s);
		u->level = level_of(u->bytes / f->burst_bytes);
	}
}

uint32_t user_flow_payer(const struct snapshot *snap, int32_t job, uint32_t uid)
{
	uint32_t owner = job >= 0 && (size_t)job < snap->jobs.len ? snap->jobs.at[job].uid : 0;

	return owner ? owner : uid;
}

static struct user_flow *find(const struct store *st, uint32_t uid)
{
	uint64_t at;

	return st->flows.users.len && map_get(&st->flows.index, uid, &at) ? &st->flows.users.at[at]
	                                                                  : NULL;
}

static struct user_flow *find_or_add(struct store *st, uint32_t uid)
{
	struct user_flows *f = &st->flows;
	struct user_flow *u = find(st, uid);

	if (u)
		return u;
	u = vec_push(&f->users, USERS_MAX);
	if (!u)
		return &f->users.at[f->users.len - 1];
	*u = (struct user_flow){ .uid = uid };
	map_put(&f->index, uid, f->users.len - 1);
	return u;
}

void user_flow_add(struct store *st, uint32_t uid, size_t bytes)
{
	struct user_flow *u;

	if (!uid || uid == geteuid() || st->flows.burst_bytes <= 0)
		return;
	u = find_or_add(st, uid);
	u->bytes += (double)bytes;
	u->level = level_of(u->bytes / st->flows.burst_bytes);
}

enum user_flow_level user_flow_level(const struct store *st, uint32_t uid)
{
	const struct user_flow *u = find(st, uid);

	return u ? u->level : USER_FLOW_ALL;
}

bool user_flow_is_due(const struct store *st, uint32_t uid)
{
	enum user_flow_level level = user_flow_level(st, uid);

	return level < USER_FLOW_ENDS && st->snapshots.keyframe.at % (1 << level) == 0;
}

struct store_left_out *user_flow_losses(struct store *st, uint32_t uid)
{
	return &find_or_add(st, uid)->losses;
}

static void add(struct store_left_out *to, const struct store_left_out *more)
{
	to->samples += more->samples;
	to->events += more->events;
	to->processes += more->processes;
}

struct store_left_out user_flow_left_out(const struct user_flows *f)
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

bool user_flow_next_report(struct store *st, struct user_flow *ret)
{
	struct user_flows *f = &st->flows;

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
