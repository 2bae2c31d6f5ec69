/* SPDX-License-Identifier: MIT */
/* store_scene.h - a world with one job, "train", and a store of its own in a directory of its own.
 */
#pragma once

#include "store_world.h"

struct fixture {
	struct world w;
	char *dir;
	struct store *st;
};

static inline struct fixture scene_of(uint64_t seed)
{
	struct fixture sc = { .dir = world_dir() };

	world_init(&sc.w, seed);
	world_add_job(&sc.w, "train");
	sc.st = world_open(&sc.w, sc.dir);
	return sc;
}

static inline void scene_done(struct fixture *sc)
{
	store_close(sc->st);
	world_done(&sc->w);
	world_rmdir(sc->dir);
}
