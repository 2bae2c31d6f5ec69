/* SPDX-License-Identifier: MIT */
/* drm_fdinfo.h - what the kernel reports about an open file of a GPU in /proc/PID/fdinfo/N: the client
 * behind it, the memory that it holds, and how long engines worked for it. The keys are those of the
 * kernel's Documentation/gpu/drm-usage-stats.rst; drivers and kernels leave out many. */
#pragma once

#include "base/scan.h"

#define DRM_NAME_MAX 24
#define DRM_ENGINES_MAX 16
#define DRM_REGIONS_MAX 16

/* All engines of one kind. */
struct drm_engine {
	char name[DRM_NAME_MAX];
	uint64_t busy;     /* ns, or cycles where total is not 0 */
	uint64_t total;    /* cycles that passed, busy or not; 0: `busy` is a time */
	uint64_t capacity; /* how many there are, at least 1 */
};

struct drm_client {
	char node[DRM_NAME_MAX];   /* "renderD128" */
	char driver[DRM_NAME_MAX]; /* "": this kernel reports nothing about it */
	char bus[DRM_NAME_MAX];    /* "0000:03:00.0"; "": not a PCI device */
	bool has_id;
	uint64_t id; /* the same for all descriptors of one client; unique on its device */
	/* Memory of the GPU itself, or what it uses of the machine's where it has none. */
	bool has_memory;
	uint64_t memory_bytes;
	size_t engine_count;
	struct drm_engine engines[DRM_ENGINES_MAX];
};

/* Before the text of each file stands a line with the name of its node; one without a name: there were
 * more than could be read. */
#define DRM_FDINFO_MARK '@'

/* The next client in such a text; false at the end. */
bool drm_fdinfo_next(struct scan *texts, struct drm_client *ret);
/* Whether the mark of an incomplete text. */
bool drm_client_is_rest(const struct drm_client *c);
