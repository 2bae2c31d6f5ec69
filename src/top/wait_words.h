/* SPDX-License-Identifier: MIT */
/* wait_words.h - what processes wait in, in a few words: "read pipe", "futex lock". Asked of /proc by us, for the rows that are
 * shown, each once a frame; users who may not trace a process see less. */
#pragma once

#include "base/map.h"
#include "kernel/process_reader.h"

/* Initialised with zeros. */
struct wait_words {
	struct process_reader *reader; /* NULL: not needed so far */
	int root_fd;
	struct map of; /* pid → an owned text, "": not known */
};

/* Reads what these processes wait for, unless it is known already. Valid until
 * wait_words_forget(). */
void wait_words_read(struct wait_words *w, const pid_t *pids, size_t n);
void wait_words_forget(struct wait_words *w);
void wait_words_done(struct wait_words *w);
