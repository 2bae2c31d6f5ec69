/* SPDX-License-Identifier: MIT */
#include "cli/run_options.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "job/job_ident.h"
#include "job/job_type.h"
#include "job/parent_job.h"
#include "kernel/user_namespace.h"
#include "model/flight.h"
#include "model/redact.h"

#define INTERVAL_MIN_NS (50 * NS_PER_MS)
#define GRACE_NS (10 * NS_PER_S)
#define ARGV_BYTES_MAX ((size_t)1 << 16) /* of the command line that are looked at */
#define PIDS_MAX 4194304                 /* the kernel's PID_MAX_LIMIT */
#define NOT_GIVEN UINT64_MAX

/* ---- what it is called ----------------------------------------------------------------------- */

static void put_command(struct job *job, char *const *argv)
{
	struct buf joined = { .max = ARGV_BYTES_MAX };
	const size_t room = sizeof job->command - 1;
	size_t len;

	for (; *argv && buf_put(&joined, *argv, strlen(*argv) + 1); argv++)
		;
	len = redact_command(joined.at, joined.len, job->command, room);
	job->command[*argv ? text_mark_cut(job->command, len, room) : len] = '\0';
	buf_done(&joined);
}

static void put_cwd(struct job *job)
{
	cleanup(freep) char *cwd = getcwd(NULL, 0);

	if (cwd)
		text_copy(job->cwd, sizeof job->cwd, cwd);
}

static void generate_name(const char *begin, char ret[JOB_ID_MAX])
{
	uint64_t random = 0;

	(void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
	job_ident_new(begin, clock_wall_ns(), getpid(), random, ret);
}

void run_options_generate_id(const char *name, struct job *ret)
{
	generate_name(name, ret->id);
}

/* That of the recorder above us; else our own. In a user namespace the users outside are not known. */
static uint32_t find_parent_user(const struct job *job)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(process_reader_freep) struct process_reader *reader = process_reader_new(root_fd);
	uid_t user;

	return job->uid == geteuid() && parent_job_recorder_user(reader, getppid(), &user)
	               ? user
	               : job->uid;
}

/* Only its id is in the environment. What no id can be would look like another user's job. */
static void find_parent(struct job *job)
{
	const char *parent = getenv("PROCTOR_JOB_ID");
	struct err err = { 0 };

	if (!parent || job_ident_check_id(parent, &err) < 0)
		return;
	snprintf(job->parent, sizeof job->parent, "%s", parent);
	job->has_parent_uid = true;
	job->parent_uid = find_parent_user(job);
}

int run_options_name_job(const struct run_options *o, int argc, char **argv, struct job *ret,
                         struct err *err)
{
	ret->type_is_given = o->name != NULL;
	if (o->name)
		snprintf(ret->type, sizeof ret->type, "%s", o->name);
	else
		job_type(argc, argv, ret->type);
	if (o->job_id)
		snprintf(ret->id, sizeof ret->id, "%s", o->job_id);
	else
		run_options_generate_id(ret->type, ret);
	generate_name("", ret->recording);
	memcpy(ret->limit, o->limit, sizeof ret->limit);
	ret->uid = user_namespace_own_uid();
	find_parent(ret);
	put_command(ret, argv);
	if (!o->pid)
		put_cwd(ret);
	return job_ident_tags_json(o->tags.at, o->tags.len, ret->tags, err);
}

/* ---- checks ---------------------------------------------------------------------------------- */

bool run_options_have_limits(const struct run_options *o)
{
	for (size_t i = 0; i < JOB_LIMIT_COUNT; i++)
		if (o->limit[i])
			return true;
	return false;
}

static int check_names(const struct cli *cli, const struct run_options *o)
{
	struct err err;

	if (o->name && job_ident_check(o->name, &err) < 0)
		return cli_usage(cli, "--name: %s", err.msg);
	if (o->job_id && job_ident_check_id(o->job_id, &err) < 0)
		return cli_usage(cli, "--job-id: %s", err.msg);
	return CLI_OK;
}

static bool needs_command(const struct run_options *o)
{
	return run_options_have_limits(o) || o->waits || o->kills_leftovers || o->waits_for_room ||
	       o->captures;
}

static int check_tier(const struct cli *cli, struct run_options *o)
{
	if (!o->tier || strcmp(o->tier, "bpf") == 0)
		return CLI_OK;
	o->no_bpf = true;
	if (strcmp(o->tier, "connector") == 0)
		return CLI_OK;
	o->no_events = true;
	if (strcmp(o->tier, "proc") == 0 || strcmp(o->tier, "looks") == 0) /* its name until 0.1 */
		return CLI_OK;
	return cli_usage(cli, "--tier '%s': write bpf, connector or proc", o->tier);
}

static int check_options(const struct cli *cli, struct run_options *o, int words)
{
	if (!o->pid && words == 0)
		return cli_usage(cli, "no command given");
	if (o->pid && words)
		return cli_usage(cli, "give a command or --pid, not both");
	if (o->pid && needs_command(o))
		return cli_usage(cli, "limits, --wait, --kill-leftovers, --wait-for-room and "
		                      "--capture are for a command, not for --pid");
	if (o->captures && !o->out)
		return cli_usage(cli, "--capture needs --out DIR, the folder to write into");
	if (check_names(cli, o) != CLI_OK)
		return CLI_USAGE;
	return check_tier(cli, o);
}

static int check_flight(const struct cli *cli, struct run_options *o)
{
	if (o->flight_calls == OPT_NO_VALUE)
		o->flight_calls = FLIGHT_CALLS_DEFAULT;
	if (o->flight_calls == NOT_GIVEN)
		o->flight_calls = 0;
	else if (o->flight_calls < FLIGHT_CALLS_MIN || o->flight_calls > FLIGHT_CALLS_MAX)
		return cli_usage(cli, "--flight-recorder=%llu: write a number from %d to %d",
		                 (unsigned long long)o->flight_calls, FLIGHT_CALLS_MIN,
		                 FLIGHT_CALLS_MAX);
	o->uses_strace = o->traces_syscalls; /* it cannot replace the flight recorder */
	o->traces_syscalls |= o->flight_calls != 0;
	return CLI_OK;
}

/* 0 stands for "none" from here on, so it cannot be asked for. */
static int check_numbers(const struct cli *cli, struct run_options *o)
{
	uint64_t pids = o->limit[JOB_LIMIT_PIDS];

	if (pids != NOT_GIVEN && pids > PIDS_MAX)
		return cli_usage(cli, "--pids %llu: the kernel has room for %d at most",
		                 (unsigned long long)pids, PIDS_MAX);
	for (enum job_limit i = 0; i < JOB_LIMIT_COUNT; i++) {
		if (o->limit[i] == 0)
			return cli_usage(cli, "--%s must be greater than 0", job_limit_name(i));
		if (o->limit[i] == NOT_GIVEN)
			o->limit[i] = 0;
	}
	if (o->pid == 0 || (o->pid != NOT_GIVEN && o->pid > PIDS_MAX))
		return cli_usage(cli, "--pid %llu is not the number of a process",
		                 (unsigned long long)o->pid);
	if (o->pid == NOT_GIVEN)
		o->pid = 0;
	if (check_flight(cli, o))
		return CLI_USAGE;
	if (o->interval_ns < INTERVAL_MIN_NS)
		return cli_usage(cli, "--interval must be 0.05 s or more");
	if (o->interval_ns == NOT_GIVEN)
		o->interval_ns = 0;
	return CLI_OK;
}

bool run_options_parse(struct cli *cli, int argc, char **argv, struct run_options *ret,
                       int *ret_first)
{
	uint64_t *limit = ret->limit;
	const struct opt opts[] = {
		{ "name", 0, OPT_TEXT, &ret->name, "TYPE",
		  "job type: what makes two runs comparable (default: from the command)" },
		{ "job-id", 0, OPT_TEXT, &ret->job_id, "ID",
		  "id of this run (default: generated)" },
		{ "tag", 't', OPT_LIST, &ret->tags, "K=V", "add a tag; may be repeated" },
		{ "interval", 'i', OPT_DURATION, &ret->interval_ns, "TIME",
		  "time between two samples (default: 0.05 s at first, growing to 1 s)" },
		{ "pid", 0, OPT_U64, &ret->pid, "PID",
		  "watch a running process and its descendants, from now on" },
		{ "out", 'o', OPT_PATH, &ret->out, "DIR",
		  "also write a run folder: run log, CSV files, summary, report" },
		{ "capture", 0, OPT_FLAG, &ret->captures, NULL,
		  "with --out: also copy stdout and stderr into the folder" },
		{ "mem", 0, OPT_SIZE, &limit[JOB_LIMIT_MEM], "SIZE", "memory limit: 500M, 8G" },
		{ "cpu", 0, OPT_MILLI, &limit[JOB_LIMIT_CPU], "CORES", "CPU limit: 2, 0.5" },
		{ "pids", 0, OPT_U64, &limit[JOB_LIMIT_PIDS], "N",
		  "limit on processes and threads" },
		{ "time", 0, OPT_DURATION, &limit[JOB_LIMIT_TIME], "TIME",
		  "time limit, 1h30m or 1:30:00: SIGTERM to the whole job, then SIGKILL" },
		{ "grace", 0, OPT_DURATION, &ret->grace_ns, "TIME",
		  "time between SIGTERM and SIGKILL (default: 10s)" },
		{ "wait", 'w', OPT_FLAG, &ret->waits, NULL,
		  "wait until all its processes have ended" },
		{ "kill-leftovers", 0, OPT_FLAG, &ret->kills_leftovers, NULL,
		  "kill processes that the command leaves behind" },
		{ "wait-for-room", 0, OPT_FLAG, &ret->waits_for_room, NULL,
		  "start when the machine has room: see proctor pressure" },
		{ "summary", 0, OPT_FLAG, &ret->summary, NULL,
		  "print the summary even if stderr is not a terminal (or: PROCTOR_SUMMARY=1)" },
		{ "quiet", 'q', OPT_FLAG, &ret->quiet, NULL,
		  "print no summary and no warnings, except when the job is not stored" },
		{ "syscalls", 0, OPT_FLAG, &ret->traces_syscalls, NULL,
		  "count its system calls: slows down every process, or (strace) the job" },
		{ "flight-recorder", 0, OPT_U64_MAYBE, &ret->flight_calls, NULL,
		  "the same, and keep the last 64 (or =N) calls of processes that fail" },
		{ "on-anomaly", 0, OPT_TEXT, &ret->on_anomaly, "CMD",
		  "run a shell command for each anomaly that begins, with JSON on its stdin" },
		{ "no-bpf", 0, OPT_FLAG, &ret->no_bpf, NULL, "do not use BPF" },
		{ "tier", 0, OPT_TEXT, &ret->tier, "TIER",
		  "best source of process events to use: bpf, connector or proc",
		  "bpf connector proc" },
		CLI_COMMON_OPTS(cli),
	};

	*ret = (struct run_options){ 0 };
	for (size_t i = 0; i < JOB_LIMIT_COUNT; i++)
		limit[i] = NOT_GIVEN;
	ret->interval_ns = ret->pid = ret->flight_calls = NOT_GIVEN;
	ret->grace_ns = GRACE_NS;
	if (!cli_parse_command(cli, opts, argc, argv, ret_first))
		return false;
	cli->status = check_numbers(cli, ret);
	if (cli->status == CLI_OK)
		cli->status = check_options(cli, ret, argc - *ret_first);
	return cli->status == CLI_OK;
}
