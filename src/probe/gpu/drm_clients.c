/* SPDX-License-Identifier: MIT */
#include "probe/gpu/drm_clients.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "kernel/drm_fdinfo.h"
#include "probe/gpu/gpu_uses.h"

#define CLIENTS_MAX 4096
#define CUT_MAX 256

/* The use of one device's engines by a process, or by all, since the last tick. */
struct load {
	size_t count;
	struct {
		char name[DRM_NAME_MAX];
		double ratio;
	} at[DRM_ENGINES_MAX];
};

struct client {
	int device;
	uint64_t id;
	struct proc_id owner, current_holder; /* … at this tick */
	uint64_t read_ns, before_ns;
	bool is_here; /* at this tick */
	bool has_before;
	struct drm_client now;
	size_t before_count;
	struct drm_engine before[DRM_ENGINES_MAX];
};

struct drm_clients {
	uint64_t now_ns;
	VEC(struct client) clients;
	struct map by_key;               /* hash of device and id → position */
	VEC(struct proc_id) cut;         /* had more files than were read at this tick */
	bool is_silent[DRM_DEVICES_MAX]; /* the kernel reports nothing about its files */
};

struct drm_clients *drm_clients_new(void)
{
	return xcalloc(1, sizeof(struct drm_clients));
}

void drm_clients_free(struct drm_clients *c)
{
	if (!c)
		return;
	vec_done(&c->clients);
	vec_done(&c->cut);
	map_done(&c->by_key);
	free(c);
}

/* ---- clients --------------------------------------------------------------------------------- */

static uint64_t key_of(int device, uint64_t id)
{
	const uint64_t parts[] = { (uint64_t)device, id };

	return hash_bytes(HASH_SEED, parts, sizeof parts);
}

static void keep_engines(struct client *k)
{
	k->has_before = true;
	k->before_ns = k->read_ns;
	k->before_count = k->now.engine_count;
	memcpy(k->before, k->now.engines, sizeof k->before);
}

/* Those that were not there at the last tick are closed. */
void drm_clients_begin(struct drm_clients *c, uint64_t mono_ns)
{
	size_t kept = 0;

	map_reset(&c->by_key);
	vec_each(&c->clients, k) {
		if (!k->is_here)
			continue;
		keep_engines(k);
		k->is_here = false;
		map_put(&c->by_key, key_of(k->device, k->id), kept);
		if (&c->clients.at[kept] != k)
			c->clients.at[kept] = *k;
		kept++;
	}
	c->clients.len = kept;
	c->now_ns = mono_ns;
	vec_reset(&c->cut);
}

static struct client *find_client(struct drm_clients *c, int device, uint64_t id)
{
	uint64_t key = key_of(device, id), at;
	struct client *k;

	if (map_get(&c->by_key, key, &at) && c->clients.at[at].device == device &&
	    c->clients.at[at].id == id)
		return &c->clients.at[at];
	k = vec_push(&c->clients, CLIENTS_MAX);
	if (!k)
		return NULL;
	map_put(&c->by_key, key, c->clients.len - 1);
	k->device = device;
	k->id = id;
	return k;
}

static bool is_older(struct proc_id a, struct proc_id b)
{
	return a.start_ticks != b.start_ticks ? a.start_ticks < b.start_ticks : a.pid < b.pid;
}

static void take_client(struct client *k, struct proc_id id, const struct drm_client *read,
                        uint64_t now_ns)
{
	if (!k->is_here || proc_id_eq(k->owner, id) ||
	    (!proc_id_eq(k->current_holder, k->owner) && is_older(id, k->current_holder)))
		k->current_holder = id;
	/* Without an id, the descriptors of a process cannot be told apart: the largest counts. */
	if (!k->is_here || read->has_id || read->memory_bytes > k->now.memory_bytes)
		k->now = *read;
	k->read_ns = now_ns;
	k->is_here = true;
}

/* Kernels that give no id: one client for each process, numbered as no kernel does. */
static uint64_t id_of(const struct drm_client *read, struct proc_id id)
{
	return read->has_id ? read->id : UINT64_C(1) << 63 | proc_key(id);
}

static int device_of(const struct drm_devices *devices, const struct drm_client *read)
{
	int at = read->bus[0] ? drm_devices_by_bus(devices, read->bus) : -1;

	return at >= 0 ? at : drm_devices_by_node(devices, read->node);
}

static void add_cut(struct drm_clients *c, struct proc_id id)
{
	struct proc_id *cut = vec_push(&c->cut, CUT_MAX);

	if (cut)
		*cut = id;
}

bool drm_clients_add(struct drm_clients *c, const struct drm_devices *devices, struct proc_id id,
                     struct scan text)
{
	struct drm_client read;
	bool found = false;

	while (drm_fdinfo_next(&text, &read)) {
		int device = device_of(devices, &read);
		struct client *k;

		if (drm_client_is_rest(&read))
			add_cut(c, id);
		if (device < 0)
			continue;
		found = true;
		if (!read.driver[0]) {
			c->is_silent[device] = true;
			continue;
		}
		k = find_client(c, device, id_of(&read, id));
		if (k)
			take_client(k, id, &read, c->now_ns);
	}
	return found;
}

/* ---- loads ----------------------------------------------------------------------------------- */

static void load_add(struct load *l, const char *name, double ratio)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->at[i].name, name) == 0) {
			l->at[i].ratio += ratio;
			return;
		}
	if (l->count == DRM_ENGINES_MAX)
		return;
	memcpy(l->at[l->count].name, name, sizeof l->at[0].name);
	l->at[l->count++].ratio = ratio;
}

/* Percent of the busiest kind of engine. */
static uint64_t load_percent(const struct load *l)
{
	double most = 0;

	for (size_t i = 0; i < l->count; i++)
		most = MAX(most, l->at[i].ratio);
	return (uint64_t)(MIN(most, 1.0) * 100 + 0.5);
}

/* A counter that went back is not compared. */
static void add_engine(const struct drm_engine *before, const struct drm_engine *now,
                       uint64_t elapsed_ns, struct load *to)
{
	uint64_t whole = now->total ? now->total - before->total : elapsed_ns;

	if (now->busy < before->busy || !!now->total != !!before->total ||
	    now->total < before->total || !whole)
		return;
	load_add(to, now->name,
	         (double)(now->busy - before->busy) / (double)whole / (double)now->capacity);
}

static void add_load(const struct client *k, struct load *to)
{
	if (!k->has_before)
		return;
	for (size_t i = 0; i < k->now.engine_count; i++)
		for (size_t b = 0; b < k->before_count; b++)
			if (strcmp(k->before[b].name, k->now.engines[i].name) == 0)
				add_engine(&k->before[b], &k->now.engines[i],
				           k->read_ns - k->before_ns, to);
}

/* ---- the result ------------------------------------------------------------------------------ */

/* One process on one device: all its clients there. */
static void put_use(const struct drm_clients *c, size_t at, size_t first, struct sample *to)
{
	const struct client *k = &c->clients.at[at];
	struct gpu_use use = { .gpu = (uint32_t)(first + (size_t)k->device),
		               .id = k->owner,
		               .job = -1 };
	struct load load = { 0 };
	uint64_t bytes = 0;
	bool has_memory = false;

	for (size_t i = at; i < c->clients.len; i++) {
		const struct client *own = &c->clients.at[i];

		if (!own->is_here || own->device != k->device || !proc_id_eq(own->owner, k->owner))
			continue;
		has_memory |= own->now.has_memory;
		bytes += own->now.memory_bytes;
		add_load(own, &load);
	}
	if (has_memory)
		readings_set(&use.r, GPU_USE_MEM, bytes);
	if (load.count)
		readings_set(&use.r, GPU_USE_SM, load_percent(&load));
	vec_each(&c->cut, cut)
		use.is_partial |= proc_id_eq(*cut, k->owner);
	gpu_uses_add(to, &use);
}

/* Whether an earlier one is of the same process and device: it was put with that. */
static bool is_put(const struct drm_clients *c, size_t at)
{
	const struct client *k = &c->clients.at[at];

	for (size_t i = 0; i < at; i++)
		if (c->clients.at[i].is_here && c->clients.at[i].device == k->device &&
		    proc_id_eq(c->clients.at[i].owner, k->owner))
			return true;
	return false;
}

static void set_bound(struct gpu_sample *gpu, enum gpu_metric id, uint64_t v)
{
	readings_set(&gpu->r, id, v);
	gpu->at_least |= UINT64_C(1) << id;
}

static void sum_device(const struct drm_clients *c, int device, struct gpu_sample *gpu)
{
	struct load load = { 0 };
	uint64_t bytes = 0;
	bool has_memory = false;

	vec_each(&c->clients, k) {
		if (!k->is_here || k->device != device)
			continue;
		add_load(k, &load);
		has_memory |= k->now.has_memory;
		bytes += k->now.memory_bytes;
	}
	if (load.count && !readings_has(&gpu->r, GPU_UTIL))
		set_bound(gpu, GPU_UTIL, load_percent(&load));
	if (has_memory && !readings_has(&gpu->r, GPU_MEM_USED))
		set_bound(gpu, GPU_MEM_USED, bytes);
}

void drm_clients_end(struct drm_clients *c, const struct drm_devices *devices, size_t first,
                     struct sample *to)
{
	vec_each(&c->clients, k)
		k->owner = k->current_holder;
	for (size_t i = 0; i < c->clients.len; i++)
		if (c->clients.at[i].is_here && !is_put(c, i))
			put_use(c, i, first, to);
	for (size_t i = 0; i < devices->count && first + i < to->gpus.len; i++)
		sum_device(c, (int)i, &to->gpus.at[first + i]);
}

bool drm_clients_is_silent(const struct drm_clients *c, size_t device)
{
	return c->is_silent[device];
}
