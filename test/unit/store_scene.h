/* SPDX-License-Identifier: MIT */
/* store_scene.h - a world with one job, "train", and a store of its own in a directory of its own.
 */
#pragma once

#include "store_world.h"

struct keyframe_view {
	struct world w;
	char *dir;
	struct store *st;
};

static inline struct keyframe_view scene_of(uint64_t seed)
{
	struct keyframe_view sc = { .dir = world_dir() };

	world_init(&sc.w, seed);
	world_add_job(&sc.w, "train");
	sc.st = world_open(&sc.w, sc.dir);
	return sc;
}

static inline void scene_done(struct keyframe_view *sc)
{
	store_close(sc->st);
	world_done(&sc->w);
	world_rmdir(sc->dir);
}
