/* SPDX-License-Identifier: MIT */
/* lifecycle_load.h - the lifecycle programs, loaded into the kernel and attached. Records as in
 * lifecycle_record.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct lifecycle_load;

int lifecycle_load_open(int root_fd, size_t ring_bytes, struct lifecycle_load **ret,
                        struct err *err) must_check;
void lifecycle_load_close(struct lifecycle_load *load); /* NULL is fine */
DEFINE_CLEANUP(struct lifecycle_load *, lifecycle_load_close)
int lifecycle_load_ring_fd(const struct lifecycle_load *load);
uint64_t lifecycle_load_dropped(
	const struct lifecycle_load *load); /* records that found no room, so far */
bool lifecycle_load_is_nested(
	const struct lifecycle_load *load); /* our pid namespace is not the initial one */
