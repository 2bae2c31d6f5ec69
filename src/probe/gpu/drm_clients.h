/* SPDX-License-Identifier: MIT */
/* drm_clients.h - what processes do on the GPUs of drm_devices.h, by the open files of each.
 *
 * A client is what one open() of a device made. Its descriptor may be duplicated and inherited, and it shows
 * the same figures everywhere: so it counts once, for the process that had it first, and for another
 * one that holds it when that is gone. What processes of other users do stays hidden from a plain
 * user, so the sum over the clients of a device is a lower bound. Pure; drm_search.h reads the files. */
#pragma once

#include "base/scan.h"
#include "model/sample.h"
#include "probe/gpu/drm_devices.h"

struct drm_clients;

struct drm_clients *drm_clients_new(void);
void drm_clients_free(struct drm_clients *c); /* NULL is fine */

/* One tick: begin, then each process with the text of its files, then the result. */
void drm_clients_begin(struct drm_clients *c, uint64_t mono_ns);
/* Whether the process has such files. */
bool drm_clients_add(struct drm_clients *c, const struct drm_devices *devices, struct proc_id id,
                     struct scan text);
/* The uses, and where the GPUs themselves report no load or memory, what their clients add up to. The
 * devices are sample->gpus from `first` on. */
void drm_clients_end(struct drm_clients *c, const struct drm_devices *devices, size_t first,
                     struct sample *to);
/* Whether the kernel reports nothing about files of this device: it is too old. */
bool drm_clients_is_silent(const struct drm_clients *c, size_t device);
