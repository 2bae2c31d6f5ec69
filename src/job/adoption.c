/* SPDX-License-Identifier: MIT */
#include "job/adoption.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "job/process_origin.h"
#include "job/signature.h"
#include "job/watched_job.h"
#include "kernel/cgroup_dir.h"
#include "kernel/process_reader.h"
#include "model/process_slots.h"

#define READS_MAX 50               /* of processes at a tick: environments, and whose word they are */
#define WORD_READS 2               /* a process and its parent */
#define CGROUPS_NS (2 * NS_PER_MS) /* at a tick */
#define CGROUP_PAUSE 200           /* so many times as long as it took, a group is left alone */
#define CGROUP_PIDS_MAX 65536
#define PARTS_MAX 16      /* of one environment; what is behind is not read */
#define OVERLAP_BYTES 256 /* of two parts: an entry that counts is whole in one of them */
#define YOUNG_NS (2 * NS_PER_S)

static_assert(OVERLAP_BYTES > sizeof(SIGNATURE_VARIABLE) + JOB_ID_MAX, "an entry fits into both");

/* Facts about a process, and the program that it runs. */
struct note {
	struct origin {
		pid_t parent; /* that started it, or had it when it was first seen; 0: not known */
		uint32_t uid; /* that it had at some time, besides root; 0: none … */
		bool has_others; /* … and another one */
		bool is_seen;    /* by a tick, not only born */
	} origin;
	char comm[COMM_LEN];
	uint32_t command_len;
	bool environ_is_known;
	uint64_t id_hash; /* of $PROCTOR_JOB_ID; 0: none */
	uint64_t serial;  /* of the last claim whose workspace it was compared with */
};

struct adoption {
	int root_fd;
	struct process_reader *reader; /* the host's */
	uint64_t serial;               /* of the latest claim */
	struct process_slots notes;    /* struct note of each process */
	VEC(pid_t) pids;               /* scratch */
	size_t next_cgroup;
	pid_t next_pid; /* that is read first */
};

/* The state of one tick. */
struct tick {
	struct adoption *a;
	const struct sample *s;
	struct job_roster *t;
	struct members *m;
	pid_t self;
	unsigned reads_left;
	bool found;
};

struct adoption *adoption_new(int root_fd, struct process_reader *reader)
{
	struct adoption *a = xcalloc(1, sizeof *a);

	a->root_fd = root_fd;
	a->reader = reader;
	a->notes.entry_bytes = sizeof(struct note);
	return a;
}

void adoption_free(struct adoption *a)
{
	if (!a)
		return;
	process_slots_done(&a->notes);
	vec_done(&a->pids);
	free(a);
}

/* ---- claims ---------------------------------------------------------------------------------- */

static char *copy_of(const char *text)
{
	return text && *text ? xstrdup(text) : NULL;
}

/* A group that two jobs have belongs to neither. */
static void share_cgroup(const struct job_roster *t, struct job_claim *c)
{
	vec_each(&t->rows, row) {
		struct job_claim *other = &(*row)->watched->claim;

		if (other == c || !c->cgroup || !other->cgroup ||
		    strcmp(c->cgroup, other->cgroup) != 0)
			continue;
		free(TAKE_PTR(other->cgroup));
		free(TAKE_PTR(c->cgroup));
	}
}

void adoption_claim(struct adoption *a, const struct job_roster *t, struct watched_job *w,
                    const char *cgroup, const char *workspace)
{
	w->claim.cgroup = copy_of(cgroup);
	w->claim.workspace = copy_of(workspace);
	w->claim.serial = ++a->serial;
	share_cgroup(t, &w->claim);
}

/* Whether a job adopts processes. */
static bool is_open(const struct job_row *row)
{
	return row->watched->claim.serial && row->job.status == JOB_RUNNING &&
	       !row->job.has_recorder;
}

static bool is_any_open(const struct job_roster *t)
{
	vec_each(&t->rows, row)
		if (is_open(*row))
			return true;
	return false;
}

/* ---- what is known of each process ----------------------------------------------------------- */

static void forget_program(struct note *note)
{
	*note = (struct note){ .origin = note->origin };
}

static void add_user(struct origin *o, uint32_t uid)
{
	o->has_others |= uid && o->uid && uid != o->uid;
	if (uid)
		o->uid = uid;
}

void adoption_learn(struct adoption *a, const struct event *events, size_t n)
{
	for (const struct event *e = events; e < events + n; e++) {
		bool is_birth = e->kind == EVENT_SPAWN;
		struct note *note = is_birth || e->kind == EVENT_EXEC
		                            ? process_slots_see(&a->notes, e->id)
		                            : NULL;

		if (!note)
			continue;
		add_user(&note->origin, e->uid);
		add_user(&note->origin, e->caller_uid);
		if (is_birth && !note->origin.is_seen)
			note->origin.parent = e->ppid;
	}
}

/* NULL: there is no room for more. */
static struct note *notes_see(struct adoption *a, const struct proc_sample *p)
{
	struct note *note = process_slots_see(&a->notes, p->id);

	if (!note)
		return NULL;
	add_user(&note->origin, p->uid);
	/* Orphans become children of process 1: it did not start them. */
	if (!note->origin.is_seen && !note->origin.parent && p->ppid > 1)
		note->origin.parent = p->ppid;
	note->origin.is_seen = true;
	if (note->command_len != p->command.len || memcmp(note->comm, p->comm, COMM_LEN) != 0) {
		forget_program(note);
		note->command_len = p->command.len;
		memcpy(note->comm, p->comm, COMM_LEN);
	}
	return note;
}

/* Another program has another environment, though it may have the same name. */
static void notes_forget_programs(struct adoption *a, const struct sample *s)
{
	vec_each(&s->events, e) {
		struct note *note = e->kind == EVENT_EXEC ? process_slots_find(&a->notes, e->id)
		                                          : NULL;

		if (note)
			forget_program(note);
	}
}

/* ---- by control group ------------------------------------------------------------------------ */

/* It lives, belongs to no job yet, and is neither us nor a child of ours: those are our helpers. */
static bool is_adoptable(const struct tick *k, const struct proc_sample *p)
{
	return p->state != 'Z' && p->state != 'X' && p->id.pid != k->self &&
	       p->ppid != k->self && job_roster_find(k->t, p->id).job < 0;
}

static void adopt(struct tick *k, const struct proc_sample *p, struct job_ref ref)
{
	members_add(k->m, k->t, p->id, ref);
	k->found = true;
}

/* Processes that a job of root runs as another user are its own, too. */
static void adopt_pids(struct tick *k, const struct job *job, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct proc_sample *p = sample_find_proc(k->s, k->a->pids.at[i]);

		if (p && is_adoptable(k, p) && (p->uid == job->uid || job->uid == 0))
			adopt(k, p, (struct job_ref){ .job = job->handle });
	}
}

static void search_cgroup(struct tick *k, const struct job_row *row)
{
	struct adoption *a = k->a;
	cleanup(closep) int fd = openat(a->root_fd, row->watched->claim.cgroup,
	                                O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	size_t n;

	if (fd < 0)
		return;
	(void)vec_reserve(&a->pids, 256, CGROUP_PIDS_MAX);
	n = cgroup_dir_pids(fd, a->pids.at, a->pids.cap);
	adopt_pids(k, &row->job, MIN(n, a->pids.cap));
	if (n > a->pids.cap) /* the others at the next tick */
		(void)vec_reserve(&a->pids, MIN(n, CGROUP_PIDS_MAX), CGROUP_PIDS_MAX);
}

/* A user may make many groups below their own, and many jobs: so each in its turn, for a limited
 * time. */
static void search_cgroups(struct tick *k)
{
	struct adoption *a = k->a;
	size_t n = k->t->rows.len;
	uint64_t began_ns = clock_mono_ns(), now_ns = began_ns;

	for (size_t i = 0; i < n && now_ns - began_ns < CGROUPS_NS; i++) {
		size_t at = (a->next_cgroup + i) % n;
		const struct job_row *row = k->t->rows.at[at];
		struct job_claim *c = &row->watched->claim;
		uint64_t since_ns = now_ns;

		if (!c->cgroup || now_ns < c->cgroup_rests_until_ns || !is_open(row))
			continue;
		search_cgroup(k, row);
		now_ns = clock_mono_ns();
		c->cgroup_rests_until_ns = now_ns + CGROUP_PAUSE * (now_ns - since_ns);
		a->next_cgroup = at + 1;
	}
}

/* ---- by environment -------------------------------------------------------------------------- */

static uint64_t hash_id(const char *id)
{
	return hash_bytes(HASH_SEED, id, strlen(id)) | 1;
}

/* A part of an environment; what was cut at its begin and end is whole in the parts around. */
static bool find_id(const struct process_request *q, uint64_t *ret_hash)
{
	struct scan text = q->text[PROCESS_ENVIRON], cut;
	char id[JOB_ID_MAX];

	if (q->offset)
		(void)scan_until(&text, '\0', &cut);
	if (!signature_environ(text, id))
		return false;
	*ret_hash = hash_id(id);
	return true;
}

/* In the middle of an exec the environment is empty. */
static bool is_between_programs(const struct tick *k, const struct proc_sample *p,
                                const struct process_request *q)
{
	uint64_t began_ns = p->id.start_ticks * NS_PER_TICK;

	return !q->error && !q->errors[PROCESS_ENVIRON] && scan_at_end(&q->text[PROCESS_ENVIRON]) &&
	       k->s->boot_ns < began_ns + YOUNG_NS;
}

/* Reads on until the job's id is found or all is read; counts what it read. */
static void read_environ(struct tick *k, const struct proc_sample *p, struct note *note)
{
	struct process_request q = { .pid = p->id.pid, .files = 1U << PROCESS_ENVIRON };

	for (unsigned part = 0; part < PARTS_MAX; part++) {
		size_t len;

		process_reader_read(k->a->reader, &q, 1);
		len = scan_left(&q.text[PROCESS_ENVIRON]);
		k->reads_left -= k->reads_left > 0;
		if (part == 0 && is_between_programs(k, p, &q))
			return;
		if (!len || find_id(&q, &note->id_hash) || len < PROCESS_TEXT_MAX)
			break;
		q.offset += PROCESS_TEXT_MAX - OVERLAP_BYTES;
	}
	note->environ_is_known = true;
}

/* ---- by signature ---------------------------------------------------------------------------- */

/* A process above the job's first one, or the one that registered the job, may well name it, and
 * starts more than this job. */
static bool is_above(const struct tick *k, const struct proc_sample *p, const struct job *job)
{
	pid_t pid = job->root.pid ? job->root.pid : job->registrar.pid;

	if (p->id.pid == job->registrar.pid)
		return true;
	for (int i = 0; pid > 1 && i < 256; i++) {
		const struct proc_sample *up = sample_find_proc(k->s, pid);

		if (!up || up->id.pid == p->id.pid)
			return up != NULL;
		pid = up->ppid;
	}
	return false;
}

/* The signatures that were read of a process and its parent, for all the jobs that it may belong
 * to: they are of its user. */
struct word {
	bool is_read;
	struct process_origin origin;
};

/* False: at a later tick. */
static bool read_word(struct tick *k, const struct proc_sample *p, pid_t parent, struct word *w)
{
	struct adoption *a = k->a;

	if (w->is_read)
		return true;
	if (!k->reads_left || p->id.pid < a->next_pid)
		return false;
	w->is_read = k->reads_left >= WORD_READS;
	k->reads_left -= MIN(k->reads_left, WORD_READS);
	if (!k->reads_left)
		a->next_pid = p->id.pid;
	if (w->is_read)
		process_origin_read(a->reader, p->id.pid, parent, p->uid, &w->origin);
	return w->is_read;
}

enum { WORD_OF_OTHERS, WORD_OF_ITS_USER, WORD_NOT_READ };

/* A parent that has ended cannot be judged, nor can one whose pid was reused. A process that was another user's before, but for
 * root's, may have been replaced by sudo. */
static int check_word(struct tick *k, const struct proc_sample *p, const struct note *note,
                      const struct job *job, struct word *w)
{
	const struct origin *o = &note->origin;
	const struct proc_sample *parent = sample_find_proc(k->s, o->parent);
	bool is_own;

	if (!parent || parent->id.start_ticks > p->id.start_ticks || o->has_others ||
	    (o->uid && o->uid != job->uid))
		return WORD_OF_OTHERS;
	if (!read_word(k, p, o->parent, w))
		return WORD_NOT_READ;
	is_own = w->origin.is_own && (w->origin.is_parents_own ||
	                              job_roster_find(k->t, parent->id).job == job->handle);
	return is_own ? WORD_OF_ITS_USER : WORD_OF_OTHERS;
}

static bool may_adopt(const struct tick *k, const struct proc_sample *p, const struct job_row *row)
{
	return is_open(row) && row->job.uid == p->uid && !is_above(k, p, &row->job);
}

static job_handle find_by_environ(struct tick *k, const struct proc_sample *p, struct note *note,
                                  struct word *w)
{
	int word;


	if (!note->id_hash)
		return -1;
	vec_each(&k->t->rows, row) {
		struct job_claim *c = &(*row)->watched->claim;

		if (!c->id_hash)
			c->id_hash = hash_id((*row)->job.id);
		if (c->id_hash != note->id_hash || !may_adopt(k, p, *row))
			continue;
		word = check_word(k, p, note, &(*row)->job, w);
		if (word == WORD_OF_ITS_USER)
			return (*row)->job.handle;
		if (word == WORD_OF_OTHERS)
			note->id_hash = 0; /* not read again */
		break;
	}
	return -1;
}

/* Chooses the longest workspace that matches: one may be within another. */
static job_handle find_by_workspace(struct tick *k, const struct proc_sample *p, struct note *note,
                                    struct word *w)
{
	struct scan command = scan_mem(k->s->text.at + p->command.at, p->command.len);
	job_handle best = -1;
	size_t longest = 0;

	if (note->serial >= k->a->serial)
		return -1;
	vec_each(&k->t->rows, row) {
		const struct job_claim *c = &(*row)->watched->claim;
		int word;

		if (c->serial <= note->serial || !c->workspace || strlen(c->workspace) <= longest ||
		    !signature_workspace(command, c->workspace) || !may_adopt(k, p, *row))
			continue;
		word = check_word(k, p, note, &(*row)->job, w);
		if (word == WORD_NOT_READ)
			return -1; /* with the serial of before: it is compared again */
		if (word == WORD_OF_OTHERS)
			continue;
		best = (*row)->job.handle;
		longest = strlen(c->workspace);
	}
	note->serial = k->a->serial;
	return best;
}

/* The job that its environment names, or else its command line; -1: none. */
static job_handle find_by_signature(struct tick *k, const struct proc_sample *p, struct note *note)
{
	struct word w = { 0 };
	job_handle job = find_by_environ(k, p, note, &w);

	return job < 0 ? find_by_workspace(k, p, note, &w) : job;
}

/* ---- one tick -------------------------------------------------------------------------------- */

static bool needs_environ(const struct tick *k, const struct proc_sample *p,
                          const struct note *note)
{
	bool is_kernels = readings_or(&p->r, PROC_VMS, 1) == 0;

	return !note->environ_is_known && !is_kernels && k->reads_left &&
	       p->id.pid >= k->a->next_pid;
}

/* A signature counts when there is none before it, so a process that was not read yet must wait.
 * Most were, and had none: they cost no more than this. */
static bool may_have_signature(const struct tick *k, const struct note *note)
{
	return note->environ_is_known && (note->id_hash || note->serial < k->a->serial);
}

/* Whoever starts a process without us knowing works on the sheet that is open. */
static struct job_ref current_place(const struct job_roster *t, job_handle job)
{
	const struct job_row *row = job_roster_get(t, job);

	return (struct job_ref){ job, row ? row->job.current_sheet : 0 };
}

static void check_process(struct tick *k, const struct proc_sample *p, struct note *note)
{
	struct job_ref ref;

	if (needs_environ(k, p, note)) {
		read_environ(k, p, note);
		if (!k->reads_left) /* whose word it is, is not known yet */
			k->a->next_pid = p->id.pid;
	}
	ref = members_place(k->m, k->t, p->ppid);
	if (ref.job >= 0 && job_roster_get(k->t, ref.job)->closed_boot_ns)
		ref.job = -1;
	if (ref.job < 0 && may_have_signature(k, note))
		ref = current_place(k->t, find_by_signature(k, p, note));
	if (ref.job >= 0)
		adopt(k, p, ref);
}

static void check_all(struct tick *k)
{
	vec_each(&k->s->procs, p) {
		struct note *note = is_adoptable(k, p) ? notes_see(k->a, p) : NULL;

		if (note)
			check_process(k, p, note);
	}
	if (k->reads_left)
		k->a->next_pid = 0;
	process_slots_end_tick(&k->a->notes);
}

bool adoption_tick(struct adoption *a, const struct sample *s, struct job_roster *t,
                   struct members *m)
{
	static const struct members_root no_root;
	struct tick k = {
		.a = a, .s = s, .t = t, .m = m, .self = getpid(), .reads_left = READS_MAX
	};

	if (!is_any_open(t))
		return false;
	search_cgroups(&k);
	if (k.found)
		members_adopt(m, t, s, &no_root);
	notes_forget_programs(a, s);
	check_all(&k);
	if (k.found)
		members_adopt(m, t, s, &no_root);
	return k.found;
}
