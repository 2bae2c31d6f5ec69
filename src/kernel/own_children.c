/* SPDX-License-Identifier: MIT */
#include "kernel/own_children.h"

#include <signal.h>
#include <unistd.h>

#include "base/scan.h"
#include "kernel/kernel_file.h"

#define TEXT_MAX 4096 /* of a longer list the rest is found the next time */

void own_children_signal(int root_fd, int signo)
{
	char text[TEXT_MAX];
	ssize_t n = kernel_file_read(root_fd, "proc/thread-self/children", text, sizeof text);
	struct scan s = scan_mem(text, n > 0 ? (size_t)n : 0);
	uint64_t pid;

	/* Each number has a space behind it, so that one that was cut off is left out. */
	while (scan_u64(&s, &pid) && scan_lit(&s, " "))
		if (pid > 1)
			(void)kill((pid_t)pid, signo);
}
