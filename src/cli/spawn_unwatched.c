/* SPDX-License-Identifier: MIT */
#include "cli/spawn_unwatched.h"

#include <errno.h>

#include "base/log.h"
#include "job/launch/exec_error.h"

enum { STATUS_FAILED = 125, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

struct spawn {
	struct loop *loop;
	struct launch_end end;
};

static void on_reaped(void *self, const struct launch_end *end)
{
	(void)self, (void)end; /* an orphan of the command: the job's recorder counts it */
}

static void on_ended(void *self, const struct launch_end *end)
{
	struct spawn *s = self;

	s->end = *end;
	loop_stop(s->loop);
}

static int refused(const struct err *err, int status)
{
	log_error("%s", err->msg);
	return status;
}

int spawn_unwatched(const struct cli *cli, char *const *argv, struct launch_end *ret)
{
	cleanup(loop_freep) struct loop *loop = NULL;
	cleanup(launcher_freep) struct launcher *launcher = NULL;
	struct spawn s = { 0 };
	const struct launch_options options = {
		.argv = argv,
		.cgroup_fd = -1,
		.on_reaped = on_reaped,
		.on_ended = on_ended,
		.self = &s,
	};
	struct err err;

	if (loop_new(&loop, &err) < 0 || launcher_new(loop, cli->sigpipe, &launcher, &err) < 0 ||
	    launcher_fork(launcher, &options, &err) < 0)
		return refused(&err, STATUS_FAILED);
	s.loop = loop;
	if (launcher_release(launcher, &err) < 0) {
		exec_error_describe(argv[0], err.code, &err);
		return refused(&err, err.code == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
	}
	if (loop_run(loop, &err) < 0)
		return refused(&err, STATUS_FAILED);
	*ret = s.end;
	return 0;
}
