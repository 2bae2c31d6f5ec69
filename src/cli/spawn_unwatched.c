/* SPDX-License-Identifier: MIT */
#include "cli/spawn_unwatched.h"

#include <errno.h>

#include "base/log.h"

struct spawn {
	struct loop *loop;
	struct spawn_end end;
};

/* The command, or an orphan of it. */
static void on_reaped(void *self, const struct launch_end *end)
{
	struct spawn_end *sum = &((struct spawn *)self)->end;
	struct rusage *u = &sum->usage;

	timeradd(&u->ru_utime, &end->usage.ru_utime, &u->ru_utime);
	timeradd(&u->ru_stime, &end->usage.ru_stime, &u->ru_stime);
	u->ru_maxrss = MAX(u->ru_maxrss, end->usage.ru_maxrss);
	u->ru_minflt += end->usage.ru_minflt;
	u->ru_majflt += end->usage.ru_majflt;
	sum->has_io &= end->has_io;
	sum->read_bytes += end->read_bytes;
	sum->written_bytes += end->written_bytes;
}

static void on_ended(void *self, const struct launch_end *end)
{
	struct spawn *s = self;

	s->end.command = *end;
	loop_stop(s->loop);
}

int spawn_unwatched(const struct cli *cli, char *const *argv, struct spawn_end *ret)
{
	cleanup(loop_freep) struct loop *loop = NULL;
	cleanup(launcher_freep) struct launcher *launcher = NULL;
	struct launch_inherited inherited;
	struct spawn s = { .end.has_io = true };
	const struct launch_options options = {
		.argv = argv,
		.cgroup_fd = -1,
		.on_reaped = on_reaped,
		.on_ended = on_ended,
		.self = &s,
	};
	struct err err;

	launcher_save_inherited(&inherited, cli->sigpipe);
	if (loop_new(&loop, &err) < 0 || launcher_new(loop, &inherited, &launcher, &err) < 0 ||
	    launcher_fork(launcher, &options, &err) < 0)
		return cli_command_failed(NULL, &err);
	s.loop = loop;
	if (launcher_release(launcher, &err) < 0)
		return cli_command_failed(argv[0], &err);
	if (loop_run(loop, &err) < 0)
		return cli_command_failed(NULL, &err);
	launcher_reap(launcher);
	s.end.is_complete = !launcher_has_children(launcher);
	*ret = s.end;
	return 0;
}
