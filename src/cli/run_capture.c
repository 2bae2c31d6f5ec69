/* SPDX-License-Identifier: MIT */
#include "cli/run_capture.h"

#include <string.h>

#include "base/log.h"

static const char *const stream_names[CAPTURE_COUNT] = { "stdout", "stderr" };

struct capture *run_capture_start(struct runfolder *folder)
{
	struct capture *capture;
	int log_fds[CAPTURE_COUNT];
	struct err err;

	if (runfolder_create_logs(folder, capture_is_one_stream(), log_fds, &err) < 0 ||
	    capture_start(log_fds, &capture, &err) < 0) {
		log_warn("the output is not captured: %s", err.msg);
		return NULL;
	}
	for (enum capture_stream i = 0; i < CAPTURE_COUNT; i++)
		if (capture_result(capture, i).was_terminal)
			log_warn("no pseudo-terminal can be opened: %s is a pipe for the command",
			         stream_names[i]);
	return capture;
}

void run_capture_end(struct capture *capture, const char *dir)
{
	if (!capture)
		return;
	capture_finish(capture);
	for (enum capture_stream i = 0; i < CAPTURE_COUNT; i++) {
		struct capture_result r = capture_result(capture, i);

		if (r.lost)
			log_warn("'%s/%s.log' lacks the last %llu bytes: %s", dir, stream_names[i],
			         (unsigned long long)r.lost, strerror(r.error));
	}
}
