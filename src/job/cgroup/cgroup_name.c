/* SPDX-License-Identifier: MIT */
#include "job/cgroup/cgroup_name.h"

#include <stdio.h>
#include <string.h>

#include "base/scan.h"
#include "job/job_ident.h"

/* The next part of a path; false at its end. */
static bool next_part(struct scan *path, struct scan *ret)
{
	while (scan_lit(path, "/"))
		;
	if (scan_at_end(path))
		return false;
	*ret = *path;
	ret->end = memchr(path->p, '/', scan_left(path));
	if (!ret->end)
		ret->end = path->end;
	path->p = ret->end;
	return true;
}

static bool ends_with(struct scan s, const char *end)
{
	size_t len = strlen(end);

	return scan_left(&s) > len && memcmp(s.end - len, end, len) == 0;
}

static bool begins_with_one(struct scan s, const char *const *of)
{
	for (; *of; of++)
		if (scan_lit(&s, *of))
			return true;
	return false;
}

/* ---- Slurm ----------------------------------------------------------------------------------- */

static bool numbered(struct scan part, const char *prefix, uint64_t *ret)
{
	uint64_t n;

	if (!scan_lit(&part, prefix) || scan_at_end(&part) || *part.p < '0' || *part.p > '9' ||
	    !scan_u64(&part, &n) || !scan_at_end(&part))
		return false;
	*ret = n;
	return true;
}

/* v1: /slurm/uid_1000/job_123/step_0/task_0, also /slurm_NODE/…
 * v2: /system.slice/slurmstepd.scope/job_123/step_batch/user/task_0, also NODE_slurmstepd.scope */
static bool name_slurm(const char *path, struct cgroup_job *ret)
{
	struct scan s = scan_str(path), part = { 0 };
	bool is_slurms = false;
	uint64_t job, step;

	for (;;) {
		if (!next_part(&s, &part))
			return false;
		if (is_slurms && numbered(part, "job_", &job))
			break;
		is_slurms |= memmem(part.p, scan_left(&part), "slurm", 5) != NULL;
	}
	ret->kind = CGROUP_SLURM;
	ret->len = (size_t)(part.end - path);
	snprintf(ret->id, sizeof ret->id, "slurm-%llu", (unsigned long long)job);
	if (!next_part(&s, &part) || !numbered(part, "step_", &step))
		return true;
	ret->len = (size_t)(part.end - path);
	snprintf(ret->id, sizeof ret->id, "slurm-%llu.%llu", (unsigned long long)job,
	         (unsigned long long)step);
	return true;
}

/* ---- systemd --------------------------------------------------------------------------------- */

static bool is_shared_scope(struct scan part)
{
	static const char *const shared[] = { "session-", "init.scope",  "app-", "vte-spawn-",
		                              "gnome-",   "tmux-spawn-", NULL };

	return begins_with_one(part, shared) ||
	       memmem(part.p, scan_left(&part), "slurmstepd", 10) != NULL;
}

static bool is_own_unit(struct scan part)
{
	static const char *const transient[] = { "run-", NULL };

	if (ends_with(part, ".scope"))
		return !is_shared_scope(part);
	return ends_with(part, ".service") && begins_with_one(part, transient);
}

/* systemd's escapes (\x2d) are decoded; characters that an id cannot have become '_'. */
static bool put_unit(struct scan part, char ret[static JOB_ID_MAX])
{
	size_t len = (size_t)((const char *)memrchr(part.p, '.', scan_left(&part)) - part.p);
	char id[JOB_NAME_MAX + 1];
	struct err err;

	snprintf(id, sizeof id, "%.*s", (int)len, part.p);
	for (char *c = id; *c; c++)
		if ((unsigned char)*c >= 0x80 || *c <= ' ' ||
		    strchr("\\/\"'`$&*()[]{}<>|;:?!#%^~,=", *c))
			*c = '_';
	if (job_ident_check_id(id, &err) < 0)
		return false;
	snprintf(ret, JOB_ID_MAX, "%s", id);
	return true;
}

static bool name_unit(const char *path, struct cgroup_job *ret)
{
	struct scan s = scan_str(path), part;
	bool found = false;

	while (next_part(&s, &part)) {
		if (!is_own_unit(part) || !put_unit(part, ret->id))
			continue;
		ret->kind = CGROUP_UNIT;
		ret->len = (size_t)(part.end - path);
		found = true;
	}
	return found;
}

bool cgroup_job_name(const char *path, struct cgroup_job *ret)
{
	struct cgroup_job job = { 0 };

	if (!name_slurm(path, &job) && !name_unit(path, &job))
		return false;
	*ret = job;
	return true;
}

bool cgroup_may_be_a_job(const char *path)
{
	struct scan s = scan_str(path), part = { 0 }, last = { 0 };
	struct cgroup_job job;

	if (cgroup_job_name(path, &job))
		return true;
	while (next_part(&s, &part))
		last = part;
	return last.p && !ends_with(last, ".scope") && !ends_with(last, ".service") &&
	       !ends_with(last, ".slice");
}
