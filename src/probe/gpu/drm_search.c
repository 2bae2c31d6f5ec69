/* SPDX-License-Identifier: MIT */
#include "probe/gpu/drm_search.h"

#include "base/clock.h"
#include "base/map.h"

#define HOLDERS_MAX 256  /* processes that are read at every tick */
#define SEARCHED_MAX 32  /* … and that are searched, of jobs; half as many others */
#define FILES_PER_S 2048 /* open files that are looked at: each takes some 3 us */
#define FILES_MAX 4096   /* … at one tick, and at the first */
#define FILES_USUAL 16   /* of a process of which that is not known */
#define KNOWN_MAX 8192

struct drm_search {
	VEC(struct proc_id) holders; /* had such files when they were read last */
	VEC(struct process_request) requests;
	VEC(struct proc_id) asked; /* of each request */
	struct map searched;       /* proc_key of those that were, once at least */
	size_t next_of_jobs;       /* where the search goes on */
	pid_t next_pid;
	int64_t files_left; /* may still be looked at; one process may exceed it */
	uint64_t mono_ns;   /* of the tick before */
};

struct drm_search *drm_search_new(void)
{
	struct drm_search *d = xcalloc(1, sizeof *d);

	d->files_left = FILES_MAX;
	return d;
}

void drm_search_free(struct drm_search *d)
{
	if (!d)
		return;
	vec_done(&d->holders);
	vec_done(&d->requests);
	vec_done(&d->asked);
	map_done(&d->searched);
	free(d);
}

static bool is_asked(const struct drm_search *d, struct proc_id id)
{
	vec_each(&d->asked, asked)
		if (proc_id_eq(*asked, id))
			return true;
	return false;
}

static void ask(struct drm_search *d, struct proc_id id)
{
	struct process_request *q = vec_push(&d->requests, PROCESS_READER_BATCH);
	struct proc_id *asked = q ? vec_push(&d->asked, PROCESS_READER_BATCH) : NULL;

	if (!asked)
		return;
	*q = (struct process_request){ .pid = id.pid, .files = 1U << PROCESS_DRM };
	*asked = id;
}

static void earn_files(struct drm_search *d, uint64_t now_ns)
{
	uint64_t elapsed_ms = d->mono_ns && now_ns > d->mono_ns ? (now_ns - d->mono_ns) / NS_PER_MS
	                                                        : 0;

	elapsed_ms = MIN(elapsed_ms, (uint64_t)FILES_MAX);
	d->files_left = MIN(d->files_left + (int64_t)(elapsed_ms * FILES_PER_S / 1000),
	                    (int64_t)FILES_MAX);
	d->mono_ns = now_ns;
}

static void search(struct drm_search *d, const struct proc_sample *p)
{
	ask(d, p->id);
	d->files_left -= (int64_t)MIN(readings_or(&p->r, PROC_FDS, FILES_USUAL),
	                              (uint64_t)FILES_MAX);
}

/* Those that may have been given the file of a GPU since: of jobs first, each in its turn. */
static void ask_jobs(struct drm_search *d, const struct sample *s)
{
	size_t n = s->request.focus.len;

	for (size_t i = 0, asked = 0; i < n && asked < SEARCHED_MAX && d->files_left > 0; i++) {
		struct proc_id id = s->request.focus.at[d->next_of_jobs++ % n];
		const struct proc_sample *p = sample_find_proc(s, id.pid);

		if (!p || is_asked(d, p->id))
			continue;
		search(d, p);
		asked++;
	}
	d->next_of_jobs = n ? d->next_of_jobs % n : 0;
}

/* Reads some of the other processes at each tick; children of process 2 are the kernel's
 * threads. */
static void ask_others(struct drm_search *d, const struct sample *s)
{
	size_t asked = 0;

	vec_each(&s->procs, p) {
		if (p->id.pid < d->next_pid || p->ppid == 2 || is_asked(d, p->id))
			continue;
		if (asked++ == SEARCHED_MAX / 2 || d->files_left <= 0) {
			d->next_pid = p->id.pid;
			return;
		}
		search(d, p);
	}
	d->next_pid = 0;
}

static void ask_holders(struct drm_search *d, const struct sample *s)
{
	vec_each(&d->holders, holder) {
		const struct proc_sample *p = sample_find_proc(s, holder->pid);

		if (p && proc_id_eq(p->id, *holder))
			ask(d, *holder);
	}
}

static void take_answers(struct drm_search *d, struct drm_clients *clients,
                         const struct drm_devices *devices)
{
	vec_reset(&d->holders);
	for (size_t i = 0; i < d->requests.len; i++) {
		const struct process_request *q = &d->requests.at[i];
		struct proc_id id = d->asked.at[i], *holder;

		if (q->error || q->errors[PROCESS_DRM])
			continue;
		map_put(&d->searched, proc_key(id), 1);
		if (!drm_clients_add(clients, devices, id, q->text[PROCESS_DRM]))
			continue;
		holder = vec_push(&d->holders, HOLDERS_MAX);
		if (holder)
			*holder = id;
	}
}

/* Whether each process of a job was searched, so that none of them uses a GPU unseen. */
static bool knows_jobs(const struct drm_search *d, const struct sample *s)
{
	uint64_t value;

	vec_each(&s->request.focus, id) {
		const struct proc_sample *p = sample_find_proc(s, id->pid);

		if (p && !map_get(&d->searched, proc_key(p->id), &value))
			return false;
	}
	return true;
}

void drm_search_read(struct drm_search *d, struct drm_clients *clients,
                     const struct drm_devices *devices, struct process_reader *reader, size_t first,
                     struct sample *to)
{
	bool knows;

	vec_reset(&d->requests);
	vec_reset(&d->asked);
	if (d->searched.len > KNOWN_MAX)
		map_reset(&d->searched);
	earn_files(d, to->mono_ns);
	ask_holders(d, to);
	ask_jobs(d, to);
	if (!to->request.focus_only)
		ask_others(d, to);
	process_reader_read(reader, d->requests.at, d->requests.len);
	drm_clients_begin(clients, to->mono_ns);
	take_answers(d, clients, devices);
	drm_clients_end(clients, devices, first, to);
	knows = knows_jobs(d, to);
	for (size_t i = 0; i < devices->count && first + i < to->gpus.len; i++)
		to->gpus.at[first + i].knows_processes = knows &&
		                                         !drm_clients_is_silent(clients, i);
}
