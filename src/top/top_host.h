/* SPDX-License-Identifier: MIT */
/* top_host.h - the process that samples for `proctor top` where no daemon answers: the program starts itself as
 * "PROGRAM top-host" with a socket as fd TOP_HOST_FD, on which it answers the methods of a daemon, and stores
 * nothing. It ends when the socket is closed. */
#pragma once

#define TOP_HOST_VERB "top-host"
#define TOP_HOST_FD 3
#define TOP_HOST_KIND "top" /* in daemon.status */
