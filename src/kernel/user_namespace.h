/* SPDX-License-Identifier: MIT */
/* user_namespace.h - our user outside of our user namespace: root of a rootless container is a plain user
 * there, and the owner of its files. */
#pragma once

#include <sys/types.h>

#include "base/scan.h"

/* Our effective user as the namespace around ours knows it; as ours does if that cannot be seen. */
uid_t user_namespace_own_uid(void);
/* The same for any user, from the text of /proc/self/uid_map. */
uid_t user_namespace_outer(struct scan map, uid_t uid);
