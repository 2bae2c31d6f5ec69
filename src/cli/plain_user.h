/* SPDX-License-Identifier: MIT */
/* plain_user.h - what the probes could do for a user without rights: tried, by a child that gives
 * its rights up. */
#pragma once

#include "engine/sampler.h"

/* Health of each role as the user nobody would see it. The count, or -errno when it could not be
 * tried. */
ssize_t plain_user_try(struct role_health ret[static ROLES_MAX]);
