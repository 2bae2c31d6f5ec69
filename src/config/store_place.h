/* SPDX-License-Identifier: MIT */
/* store_place.h - where the database lies, and how it is written. On a local file system it is
 * written with a write-ahead log, which needs memory that all its users share: one host. On a network
 * file system, which several hosts may use, each host has a database of its own, with a rollback
 * journal: DIR/hosts/HOST/proctor.db for DIR/proctor.db. */
#pragma once

#include "config/config.h"

struct store_place {
	char *path;       /* of the database; owned */
	bool is_per_host; /* … of this host, with a rollback journal */
	const char *
		file_system; /* the name of the network file system; NULL: it is local, or unknown */
};

/* The name of a file system that several hosts may use at once, by f_type of statfs(2). NULL: it is
 * local. One in user space (FUSE) may be either, and counts as one. */
const char *store_place_network_name(uint32_t f_type);
/* Where `path` is to be found if it is written by this host alone. Owned by the caller. */
char *store_place_of_host(const char *path, const char *host);
/* `path` is that of a database on a local file system. */
void store_place_find(const char *path, enum config_switch per_host, struct store_place *ret);
void store_place_done(struct store_place *p);
