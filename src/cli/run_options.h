/* SPDX-License-Identifier: MIT */
/* run_options.h - what `proctor run` was asked to do, and how the job is called. */
#pragma once

#include "cli/cli.h"
#include "model/job.h"

/* As checked: what was not given is NULL, 0 or false. */
struct run_options {
	const char *name, *job_id, *out, *tier;
	const char *on_anomaly; /* a command for /bin/sh */
	struct opt_list tags;
	uint64_t limit[JOB_LIMIT_COUNT];
	uint64_t interval_ns, grace_ns;
	uint64_t pid; /* of a process that runs already, instead of a command */
	bool no_bpf, no_events, traces_syscalls;
	bool uses_strace; /* … by strace, where BPF is not allowed */
	uint64_t flight_calls; /* kept of each thread; 0: there is no flight recorder */
	bool waits, kills_leftovers, waits_for_room, captures, summary, quiet;
};

/* False: exit, with cli->status unless that is CLI_OK. The command is argv[*ret_first] and all after it. */
bool run_options_parse(struct cli *cli, int argc, char **argv, struct run_options *ret,
                       int *ret_first);
bool run_options_have_limits(const struct run_options *o);
/* Names the job after its options and its command line; limits are copied. */
int run_options_name_job(const struct run_options *o, int argc, char **argv, struct job *ret,
                         struct err *err) must_check;
/* An id that no other job has. */
void run_options_generate_id(const char *name, struct job *ret);
