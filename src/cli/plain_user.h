/* SPDX-License-Identifier: MIT */
/* plain_user.h - what the probes could do for a user without rights: tried, by a child that gives
 * its rights up. */
#pragma once

#include "base/clock.h"
#include "engine/sampler.h"

#define PLAIN_USER_GPU_NS (2500 * NS_PER_MS) /* waited for a GPU's driver, by `doctor` as well */

/* Health of each role as the user nobody would see it. The count, or -errno when it could not be
 * tried. */
ssize_t plain_user_try(const struct sampler_options *options,
                       struct role_health ret[static ROLES_MAX]);
