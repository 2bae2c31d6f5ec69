/* SPDX-License-Identifier: MIT */
/* drm_search.h - which processes have files of GPUs open: those of jobs are searched, a few at each tick, and on a host
 * that watches the machine the others in turn. Those that have one are read at every tick. */
#pragma once

#include "kernel/process_reader.h"
#include "probe/gpu/drm_clients.h"

struct drm_search;

struct drm_search *drm_search_new(void);
void drm_search_free(struct drm_search *d); /* NULL is fine */
/* One tick of the clients, with the files of the sample's processes. The devices are sample->gpus from `first` on;
 * whether all processes of jobs on them are known is set there. */
void drm_search_read(struct drm_search *d, struct drm_clients *clients,
                     const struct drm_devices *devices, struct process_reader *reader, size_t first,
                     struct sample *to);
