/* SPDX-License-Identifier: MIT */
#include "job/strangers.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "job/cgdir.h"
#include "job/short_hash.h"
#include "job/sign.h"
#include "model/ours.h"
#include "probe/patient.h"
#include "probe/roster.h"

#define READS_MAX 50 /* of environments at a tick */
#define PATIENCE_MS 50
#define PARTS_MAX 16      /* of one environment; what is behind is not looked at */
#define OVERLAP_BYTES 256 /* of two parts: an entry that counts is whole in one of them */
#define YOUNG_NS (2 * NS_PER_S)
#define GROUPS_NS (2 * NS_PER_MS) /* at a tick */
#define GROUP_PAUSE 200           /* so many times as long as it took a group is left alone */
#define GROUP_PIDS_MAX 65536

static_assert(OVERLAP_BYTES > sizeof(SIGN_VARIABLE) + JOB_ID_MAX, "an entry fits into both");

struct claim {
	struct proc_id root;
	pid_t registrar;
	char *group, *workspace; /* owned; NULL: none */
	uint64_t serial;
	uint64_t id_hash;
	uint64_t rests_until_ns; /* its group */
};

/* What we know of a process; by seat. */
struct note {
	char comm[COMM_LEN];
	uint32_t command_len;
	bool environ_is_known;
	uint64_t id_hash; /* of $PROCTOR_JOB_ID; 0: none */
	uint64_t serial;  /* of the last claim whose workspace it was compared with */
};

struct strangers {
	int root_fd, proc_fd;
	struct patient *patient;
	VEC(struct claim) claims; /* by job */
	uint64_t serial, reads;
	struct roster roster;
	VEC(struct note) notes;
	VEC(pid_t) pids; /* scratch */
	size_t next_group;
	pid_t next_pid; /* whose environment is read first */
};

struct strangers *strangers_new(int root_fd)
{
	struct strangers *st = xcalloc(1, sizeof *st);

	st->root_fd = root_fd;
	st->proc_fd = openat(root_fd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	st->patient = patient_new(st->proc_fd, PATIENCE_MS);
	return st;
}

static void claim_done(struct claim *c)
{
	free(c->group);
	free(c->workspace);
}

void strangers_free(struct strangers *st)
{
	if (!st)
		return;
	vec_each(&st->claims, c)
		claim_done(c);
	vec_done(&st->claims);
	patient_free(st->patient);
	roster_done(&st->roster);
	vec_done(&st->notes);
	vec_done(&st->pids);
	closep(&st->proc_fd);
	free(st);
}

uint64_t strangers_reads(const struct strangers *st)
{
	return st->reads;
}

/* ---- claims ---------------------------------------------------------------------------------- */

static char *copy_of(const char *text)
{
	return text && *text ? xstrdup(text) : NULL;
}

/* A group that two jobs have is neither's. */
static void share_group(struct strangers *st, struct claim *c)
{
	vec_each(&st->claims, other) {
		if (other == c || !c->group || !other->group || strcmp(c->group, other->group) != 0)
			continue;
		free(TAKE_PTR(other->group));
		free(TAKE_PTR(c->group));
	}
}

void strangers_add(struct strangers *st, const struct stranger_claim *claim)
{
	struct claim *c = vec_push(&st->claims, JOBS_MAX);

	if (!c)
		return;
	*c = (struct claim){ .root = claim->root,
		             .registrar = claim->registrar,
		             .group = copy_of(claim->group),
		             .workspace = copy_of(claim->workspace),
		             .serial = ++st->serial };
	share_group(st, c);
}

void strangers_remove(struct strangers *st, int32_t job)
{
	size_t at = (size_t)job;

	if (at >= st->claims.len)
		return;
	claim_done(&st->claims.at[at]);
	memmove(&st->claims.at[at], &st->claims.at[at + 1],
	        (st->claims.len - at - 1) * sizeof *st->claims.at);
	st->claims.len--;
}

/* What one look goes by. */
struct look {
	struct strangers *st;
	const struct sample *s;
	struct jobtab *t;
	struct members *m;
	pid_t self;
	unsigned reads_left;
	bool found;
};

static bool is_open(const struct look *l, size_t job)
{
	const struct job *j = &l->t->jobs.at[job];

	return j->status == JOB_RUNNING && !j->is_foreign;
}

static size_t count_claims(const struct look *l)
{
	return MIN(l->st->claims.len, l->t->jobs.len);
}

static bool is_anybodys(const struct look *l)
{
	for (size_t i = 0; i < count_claims(l); i++)
		if (is_open(l, i))
			return true;
	return false;
}

static bool is_stranger(const struct look *l, const struct proc_sample *p)
{
	return p->state != 'Z' && p->state != 'X' && p->id.pid != l->self &&
	       !ours_is_helper(p->comm) && jobtab_find(l->t, p->id).job < 0;
}

static void take_in(struct look *l, const struct proc_sample *p, struct job_ref ref)
{
	members_add(l->m, l->t, p->id, ref);
	l->found = true;
}

/* ---- by control group ------------------------------------------------------------------------ */

/* Who a job of root's runs as somebody else is its own, too. */
static void take_pids(struct look *l, size_t job, size_t n)
{
	uint32_t uid = l->t->jobs.at[job].uid;

	for (size_t i = 0; i < n; i++) {
		const struct proc_sample *p = sample_find_proc(l->s, l->st->pids.at[i]);

		if (p && is_stranger(l, p) && (p->uid == uid || uid == 0))
			take_in(l, p, (struct job_ref){ .job = (int32_t)job });
	}
}

static void look_into(struct look *l, size_t job)
{
	struct strangers *st = l->st;
	const char *path = st->claims.at[job].group;
	cleanup(closep) int fd = openat(st->root_fd, path,
	                                O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	size_t n;

	if (fd < 0)
		return;
	(void)vec_reserve(&st->pids, 256, GROUP_PIDS_MAX);
	n = cgdir_pids(fd, st->pids.at, st->pids.cap);
	take_pids(l, job, MIN(n, st->pids.cap));
	if (n > st->pids.cap) /* the others at the next look */
		(void)vec_reserve(&st->pids, MIN(n, GROUP_PIDS_MAX), GROUP_PIDS_MAX);
}

/* A user may make many groups below his own, and many jobs: so each in its turn, for a limited
 * time. */
static void look_into_groups(struct look *l)
{
	struct strangers *st = l->st;
	size_t n = count_claims(l);
	uint64_t began_ns = clock_mono_ns(), now_ns = began_ns;

	for (size_t i = 0; i < n && now_ns - began_ns < GROUPS_NS; i++) {
		size_t job = (st->next_group + i) % n;
		struct claim *c = &st->claims.at[job];
		uint64_t since_ns = now_ns;

		if (!c->group || now_ns < c->rests_until_ns || !is_open(l, job))
			continue;
		look_into(l, job);
		now_ns = clock_mono_ns();
		c->rests_until_ns = now_ns + GROUP_PAUSE * (now_ns - since_ns);
		st->next_group = job + 1;
	}
}

/* ---- by environment -------------------------------------------------------------------------- */

static uint64_t hash_id(const char *id)
{
	return short_hash(SHORT_HASH_SEED, id, strlen(id)) | 1;
}

/* A part of an environment; what was cut at its begin and end is whole in the parts around. */
static bool find_id(const struct patient_file *f, uint64_t *ret_hash)
{
	struct scan text = scan_mem(f->bytes, (size_t)f->len), cut;
	char id[JOB_ID_MAX];

	if (f->offset)
		(void)scan_until(&text, '\0', &cut);
	if (!sign_environ(text, id))
		return false;
	*ret_hash = hash_id(id);
	return true;
}

/* In the middle of an exec the environment is empty. */
static bool is_between_programs(const struct look *l, const struct proc_sample *p, ssize_t len)
{
	uint64_t began_ns = p->id.start_ticks * NS_PER_TICK;

	return len == 0 && l->s->boot_ns < began_ns + YOUNG_NS;
}

static void read_environ(struct look *l, const struct proc_sample *p, struct note *note)
{
	struct patient_file f = { 0 };

	snprintf(f.path, sizeof f.path, "%d/environ", (int)p->id.pid);
	for (unsigned part = 0; part < PARTS_MAX; part++) {
		patient_read(l->st->patient, &f, 1);
		l->st->reads++;
		l->reads_left -= l->reads_left > 0;
		if (part == 0 && is_between_programs(l, p, f.len))
			return;
		if (f.len <= 0 || find_id(&f, &note->id_hash) || f.len < PATIENT_BYTES)
			break;
		f.offset += PATIENT_BYTES - OVERLAP_BYTES;
	}
	note->environ_is_known = true;
}

/* ---- by what a process shows ----------------------------------------------------------------- */

/* Who stands above a job's first process, or speaks for the job, may well name it, and starts more
 * than this job. */
static bool is_above(const struct look *l, const struct proc_sample *p, size_t job)
{
	const struct claim *c = &l->st->claims.at[job];
	pid_t pid = c->root.pid;

	if (p->id.pid == c->registrar)
		return true;
	for (int i = 0; pid > 1 && i < 256; i++) {
		const struct proc_sample *up = sample_find_proc(l->s, pid);

		if (!up || up->id.pid == p->id.pid)
			return up != NULL;
		pid = up->ppid;
	}
	return false;
}

static bool may_take(const struct look *l, const struct proc_sample *p, size_t job)
{
	return is_open(l, job) && l->t->jobs.at[job].uid == p->uid && !is_above(l, p, job);
}

static int32_t find_by_environ(const struct look *l, const struct proc_sample *p,
                               const struct note *note)
{
	for (size_t i = 0; note->id_hash && i < count_claims(l); i++) {
		struct claim *c = &l->st->claims.at[i];

		if (!c->id_hash)
			c->id_hash = hash_id(l->t->jobs.at[i].id);
		if (c->id_hash == note->id_hash && may_take(l, p, i))
			return (int32_t)i;
	}
	return -1;
}

/* Of several the longest: a workspace may be within another. */
static int32_t find_by_workspace(const struct look *l, const struct proc_sample *p,
                                 struct note *note)
{
	struct scan command = scan_mem(l->s->text.at + p->command.at, p->command.len);
	int32_t best = -1;
	size_t longest = 0;

	for (size_t i = 0; note->serial < l->st->serial && i < count_claims(l); i++) {
		const struct claim *c = &l->st->claims.at[i];

		if (c->serial <= note->serial || !c->workspace || strlen(c->workspace) <= longest ||
		    !sign_workspace(command, c->workspace) || !may_take(l, p, i))
			continue;
		best = (int32_t)i;
		longest = strlen(c->workspace);
	}
	note->serial = l->st->serial;
	return best;
}

/* A sign counts when there is none before it, so who was not asked yet must wait. */
static struct job_ref place_of(const struct look *l, const struct proc_sample *p, struct note *note)
{
	struct job_ref ref = members_place(l->m, l->t, p->ppid);

	if (ref.job >= 0 || !note->environ_is_known)
		return ref;
	ref = (struct job_ref){ .job = find_by_environ(l, p, note) };
	if (ref.job < 0)
		ref.job = find_by_workspace(l, p, note);
	return ref;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct note *note_of(struct strangers *st, const struct proc_sample *p)
{
	bool is_new;
	uint32_t seat = roster_see(&st->roster, p->id, &is_new);
	struct note *note;

	while (seat != ROSTER_NONE && st->notes.len <= seat)
		if (!vec_push(&st->notes, PROCS_MAX))
			return NULL;
	note = seat == ROSTER_NONE ? NULL : &st->notes.at[seat];
	if (note && (is_new || note->command_len != p->command.len ||
	             memcmp(note->comm, p->comm, COMM_LEN) != 0)) {
		*note = (struct note){ .command_len = p->command.len };
		memcpy(note->comm, p->comm, COMM_LEN);
	}
	return note;
}

/* Another program has another environment, though it may have the same name. */
static void forget_programs(struct strangers *st, const struct sample *s)
{
	vec_each(&s->events, e) {
		uint64_t seat;

		if (e->kind == EVENT_EXEC && map_get(&st->roster.index, proc_key(e->id), &seat) &&
		    seat < st->notes.len)
			st->notes.at[seat] = (struct note){ 0 };
	}
}

static void forget(void *self, uint32_t seat)
{
	struct strangers *st = self;

	if (seat < st->notes.len)
		st->notes.at[seat] = (struct note){ 0 };
}

static void move(void *self, uint32_t from, uint32_t to)
{
	struct strangers *st = self;

	if (from >= st->notes.len || to >= st->notes.len)
		return;
	st->notes.at[to] = st->notes.at[from];
	st->notes.at[from] = (struct note){ 0 };
}

static const struct roster_ops by_seat = { .forget = forget, .move = move };

static bool needs_environ(const struct look *l, const struct proc_sample *p,
                          const struct note *note)
{
	bool is_kernels = readings_or(&p->r, PROC_VMS, 1) == 0;

	return !note->environ_is_known && !is_kernels && l->reads_left &&
	       p->id.pid >= l->st->next_pid;
}

static void look_at(struct look *l, const struct proc_sample *p, struct note *note)
{
	struct job_ref ref;

	if (needs_environ(l, p, note)) {
		read_environ(l, p, note);
		if (!l->reads_left)
			l->st->next_pid = p->id.pid + 1;
	}
	ref = place_of(l, p, note);
	if (ref.job >= 0)
		take_in(l, p, ref);
}

static void look_at_all(struct look *l)
{
	struct strangers *st = l->st;

	vec_each(&l->s->procs, p) {
		struct note *note = is_stranger(l, p) ? note_of(st, p) : NULL;

		if (note)
			look_at(l, p, note);
	}
	if (l->reads_left)
		st->next_pid = 0;
	roster_end_scan(&st->roster, &by_seat, st);
	st->notes.len = MIN(st->notes.len, roster_seats(&st->roster));
	vec_shrink(&st->notes);
}

bool strangers_look(struct strangers *st, const struct sample *s, struct jobtab *t,
                    struct members *m)
{
	static const struct members_root nobody;
	struct look l = {
		.st = st, .s = s, .t = t, .m = m, .self = getpid(), .reads_left = READS_MAX
	};

	if (!is_anybodys(&l))
		return false;
	look_into_groups(&l);
	if (l.found)
		members_adopt(m, t, s, &nobody);
	forget_programs(st, s);
	look_at_all(&l);
	if (l.found)
		members_adopt(m, t, s, &nobody);
	return l.found;
}
