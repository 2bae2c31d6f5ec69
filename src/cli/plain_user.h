/* SPDX-License-Identifier: MIT */
/* plain_user.h - what the probes could do for an unprivileged user: tried by a child that drops its
 * privileges. */
#pragma once

#include "base/clock.h"
#include "engine/sampler.h"

#define PLAIN_USER_GPU_NS (2500 * NS_PER_MS) /* time limit for the GPU's driver, also in `doctor` */

/* The health of each role for the user nobody. Returns the count, or -errno if it could not be
 * tried. */
ssize_t plain_user_try(const struct sampler_options *options,
                       struct role_health ret[static ROLES_MAX]);
