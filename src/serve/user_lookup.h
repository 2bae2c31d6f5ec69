/* SPDX-License-Identifier: MIT */
/* user_lookup.h - the uid of a name that a client sent. The user database may be remote, so the store worker asks it, and the
 * method is called again. */
#pragma once

#include "serve/methods.h"

/* n bytes of text, a number or a name. 1, 0 if there is no such user, or -errno: -EINPROGRESS is what the method
 * returns to be called again. */
int user_lookup(struct methods *m, const struct rpc_server_peer *peer, const char *text, size_t n,
                uint32_t *ret, struct err *err) must_check;
