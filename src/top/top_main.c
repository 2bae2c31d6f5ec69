/* SPDX-License-Identifier: MIT */
/* top_main.c - proctor-top, started by `proctor top`, which has checked and completed the options. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/opts.h"
#include "kernel/user_namespace.h"
#include "top/output.h"
#include "top/screen.h"

#define USAGE 2

int main(int argc, char **argv)
{
	struct top_options o = { .link.interval_ns = NS_PER_S, .history_ns = UINT64_MAX };
	uint64_t width = 80, height = 24, job_uid = 0;
	bool color = false, unicode = false, ended;
	const struct opt opts[] = {
		{ "program", 0, OPT_PATH, &o.link.program, "PATH", "proctor itself" },
		{ "socket", 0, OPT_PATH, &o.link.socket, "PATH", "the daemon's" },
		{ "state-dir", 0, OPT_PATH, &o.link.state_dir, "DIR", "" },
		{ "config", 0, OPT_PATH, &o.link.config_file, "FILE", "" },
		{ "store", 0, OPT_PATH, &o.store, "PATH", "the database" },
		{ "job", 0, OPT_TEXT, &o.job.id, "ID", "" },
		{ "job-uid", 0, OPT_U64, &job_uid, "UID", "" },
		{ "interval", 0, OPT_DURATION, &o.link.interval_ns, "S", "" },
		{ "history", 0, OPT_DURATION, &o.history_ns, "TIME", "" },
		{ "own", 0, OPT_FLAG, &o.link.no_daemon, NULL, "" },
		{ "no-bpf", 0, OPT_FLAG, &o.link.no_bpf, NULL, "" },
		{ "json", 0, OPT_FLAG, &o.json, NULL, "" },
		{ "once", 0, OPT_FLAG, &o.once, NULL, "" },
		{ "colors", 0, OPT_FLAG, &color, NULL, "" },
		{ "unicode", 0, OPT_FLAG, &unicode, NULL, "" },
		{ "width", 0, OPT_U64, &width, "N", "of --once" },
		{ "height", 0, OPT_U64, &height, "N", "of --once" },
		{ NULL },
	};
	struct err err;

	mem_keep_small();
	signal(SIGPIPE, SIG_IGN);
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	if (opts_parse(opts, argc, argv, &ended, &err) != argc || !o.link.program) {
		dprintf(STDERR_FILENO, TOP_PROGRAM ": is started by: proctor top\n");
		return USAGE;
	}
	o.style = (struct style){ .color = color, .unicode = unicode, .width = MIN(width, 4096) };
	o.job.uid = (uint32_t)job_uid;
	o.uid = user_namespace_own_uid();
	o.height = MIN(height, (uint64_t)4096);
	if (o.json)
		return o.history_ns != UINT64_MAX ? output_history(&o) : output_lines(&o);
	return o.once ? output_once(&o) : screen_run(&o);
}
