/* SPDX-License-Identifier: MIT */
#include "job/launch/group_signal_detector.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/scan.h"
#include "model/own_program.h"

#define STATUS_BYTES 4096
/* The kernel signals the members of a group one after the other; we may be first. */
#define TRIES 3
#define BETWEEN_TRIES_NS 1000000

static void stand_there(void *arg)
{
	char byte;

	(void)arg;
	while (read(0, &byte, 1) < 0)
		;
}

int group_signal_detector_start(struct launch_helper *w, struct err *err)
{
	return launch_helper_start(w, OURS_WITNESS, stand_there, NULL, err);
}

/* ShdPnd:	0000000000004000 */
uint64_t group_signal_detector_pending(pid_t pid)
{
	char path[40], text[STATUS_BYTES + 1];
	const char *line;
	struct scan s;
	uint64_t set;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, STATUS_BYTES);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	line = strstr(text, "\nShdPnd:");
	if (!line)
		return 0;
	s = scan_str(line + strlen("\nShdPnd:"));
	return scan_hex(&s, &set) ? set : 0;
}

/* The old one is asked first: what comes in between is the new one's. Without a new one, the next
 * signal is passed on: better twice than never. */
uint64_t group_signal_detector_renew(struct launch_helper *w)
{
	struct launch_helper old = *w;
	uint64_t seen, by_new;
	struct err err;

	w->pid = 0;
	(void)!group_signal_detector_start(w, &err);
	seen = old.pid > 0 ? group_signal_detector_pending(old.pid) : 0;
	by_new = w->pid > 0 ? group_signal_detector_pending(w->pid) : 0;
	launch_helper_stop(&old);
	return seen & ~by_new;
}

bool group_signal_detector_saw(const struct launch_helper *w, int signo)
{
	struct timespec a_moment = { .tv_nsec = BETWEEN_TRIES_NS };
	bool saw = false;

	for (int i = 0; w->pid > 0 && !saw && i < TRIES; i++) {
		if (i > 0)
			nanosleep(&a_moment, NULL);
		saw = group_signal_detector_pending(w->pid) & group_signal_detector_bit(signo);
	}
	return saw;
}
