/* SPDX-License-Identifier: MIT */
/* own_children.h - the children of the calling thread, those that it adopted as a subreaper included. */
#pragma once

/* Sends all of them a signal. Those that start meanwhile may be missed. */
void own_children_signal(int root_fd, int signo);
