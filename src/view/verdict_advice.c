/* SPDX-License-Identifier: MIT */
#include "view/verdict_advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "view/format.h"

#define RUN "proctor run "
#define AND_COMMAND " -- COMMAND"
#define ADVICE_PLACE_MAX 120

struct list {
	struct advice *at;
	size_t n;
};

static void add(struct list *to, const char *command, const char *fmt, ...) printf_like(3, 4);
static void add(struct list *to, const char *command, const char *fmt, ...)
{
	va_list ap;

	if (to->n == ADVICE_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(to->at[to->n].text, sizeof to->at->text, fmt, ap);
	va_end(ap);
	snprintf(to->at[to->n++].command, sizeof to->at->command, "%s", command ? command : "");
}

/* Why so much. */
static void put_reason(char *to, size_t size, const struct next_request *next)
{
	if (next->runs > 1)
		snprintf(to, size, "; the largest of %s runs used %s", format_count(next->runs).at,
		         format_bytes(next->largest_bytes).at);
	else
		*to = '\0';
}

static void advise_own_limit(const struct job *job, const struct next_request *next,
                             struct list *to)
{
	char command[160], reason[120];

	put_reason(reason, sizeof reason, next);
	snprintf(command, sizeof command, RUN "--mem %s" AND_COMMAND,
	         format_memory_option(next->memory_bytes).at);
	add(to, command, "raise the limit: it needed more than %s%s",
	    format_bytes(job->limit[JOB_LIMIT_MEM]).at, reason);
}

static void advise_outer_limit(const struct job *job, const struct next_request *next,
                               struct list *to)
{
	uint64_t limit = job->cause.oom_limit_bytes ? job->cause.oom_limit_bytes
	                                            : job->allowed.memory_bytes;
	char command[160], reason[120];

	if (!limit) {
		add(to, NULL, "ask for more memory where the job is started");
		return;
	}
	put_reason(reason, sizeof reason, next);
	snprintf(command, sizeof command,
	         strstr(job->cause.oom_group, "slurm") ? "sbatch --mem=%s"
	                                               : "systemd-run -p MemoryMax=%s",
	         format_memory_option(next->memory_bytes).at);
	add(to, command, "ask for more than %s where the job is started%s", format_bytes(limit).at,
	    reason);
}

static void advise_time(const struct job *job, struct list *to)
{
	char command[160];

	snprintf(command, sizeof command, RUN "--time %llus" AND_COMMAND,
	         (unsigned long long)(2 * job->limit[JOB_LIMIT_TIME] / NS_PER_S));
	add(to, job->limit[JOB_LIMIT_TIME] ? command : NULL, "allow it more time");
}

/* The directory of the file in "write(3</data/out>, …" or "openat(AT_FDCWD, \"/data/out\", …". */
static bool find_directory(const char *call, char ret[static ADVICE_PLACE_MAX])
{
	const char *begin = strpbrk(call, "<\"");
	const char *end = begin ? strpbrk(begin + 1, ">\"") : NULL;

	if (!end || begin[1] != '/')
		return false;
	while (end > begin + 2 && *end != '/')
		end--;
	if (end - begin - 1 >= ADVICE_PLACE_MAX)
		return false;
	snprintf(ret, ADVICE_PLACE_MAX, "%.*s", (int)(end - begin - 1), begin + 1);
	return true;
}

/* Where it wrote to. A relative name, as it stands in the command, is one in the job's working directory. */
static void find_place(const struct job *job, const struct verdict *v,
                       char ret[static ADVICE_PLACE_MAX])
{
	for (size_t i = 0; i < v->n_evidence; i++) {
		const struct evidence *e = &v->evidence[i];

		if (e->kind == EVIDENCE_CALL_FAILED && find_directory(e->text, ret))
			return;
		if ((e->kind == EVIDENCE_DISK || e->kind == EVIDENCE_READ_ONLY) &&
		    strchr(e->text, '/') &&
		    (size_t)snprintf(ret, ADVICE_PLACE_MAX, "%s%s%s",
		                     *e->text == '/' ? "" : job->cwd, *e->text == '/' ? "" : "/",
		                     e->text) < ADVICE_PLACE_MAX)
			return;
	}
	snprintf(ret, ADVICE_PLACE_MAX, ".");
}

static void advise_disk(const struct job *job, const struct verdict *v, const char *tool,
                        const char *text, struct list *to)
{
	cleanup(buf_done) struct buf command = { 0 };
	char place[ADVICE_PLACE_MAX];

	find_place(job, v, place);
	buf_printf(&command, "%s ", tool);
	buf_put_shell_word(&command, place);
	add(to, command.len < sizeof to->at->command ? command.at : tool, "%s", text);
}

/* The first word of a command that was never started; `placeholder` if another one was not, as in a script, or a shell
 * would not read it as one word. */
static void advise_program(const struct job *job, const char *tool, const char *placeholder,
                           const char *text, struct list *to)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "/._+-@:,";
	struct figure processes = job->figures[JOB_FIGURE_PROCESSES];
	size_t len = strspn(job->command, plain);
	bool is_named = figure_is_known(processes) && !processes.value && len > 0 &&
	                len < ADVICE_PLACE_MAX &&
	                (job->command[len] == ' ' || job->command[len] == '\0');
	char command[160];

	snprintf(command, sizeof command, "%s %.*s", tool, is_named ? (int)len : -1,
	         is_named ? job->command : placeholder);
	add(to, command, "%s", text);
}

static void advise_pids(const struct job *job, struct list *to)
{
	uint64_t most = MAX(job->limit[JOB_LIMIT_PIDS], job->limit[JOB_LIMIT_USER_PIDS]);
	char command[160];

	snprintf(command, sizeof command, RUN "--pids %llu" AND_COMMAND,
	         (unsigned long long)most * 2);
	if (most)
		add(to, command, "allow it more than %s tasks", format_count(most).at);
	else
		add(to, "ulimit -u", "see how many processes the user may have");
}

/* ---- what to record next time, but for what was recorded already ----------------------------- */

/* The option that records what the program did; "": it was given. Without BPF there is no flight recorder. */
static const char *missing_calls(const struct report *r)
{
	if (report_has_flight_recorder(r))
		return "";
	if (strstr(r->job.tier, "BPF"))
		return "--flight-recorder ";
	return r->syscalls.len ? "" : "--syscalls ";
}

static bool keeps_last(const char *calls)
{
	return strstr(calls, "--flight-recorder") != NULL;
}

static bool has_output(const struct report *r)
{
	return strstr(r->job.tier, CAPTURE_TIER) != NULL;
}

static void advise_recording(const char *what, const char *calls, struct list *to)
{
	char command[160];

	snprintf(command, sizeof command, RUN "%s-- COMMAND", calls);
	add(to, command, "%s", what);
}

static void advise_unknown(const struct report *r, struct list *to)
{
	const char *calls = missing_calls(r);

	if (r->job.signal && !strstr(r->job.tier, "BPF"))
		add(to, "proctor doctor",
		    "the sender of the signal can be recorded with CAP_BPF and CAP_PERFMON, or by a daemon that runs as root");
	else if (*calls)
		advise_recording(keeps_last(calls) ? "record the system calls of what fails"
		                                   : "count its system calls, and those that fail",
		                 calls, to);
	else if (!has_output(r))
		advise_recording("keep what it prints", "--out DIR --capture ", to);
	else
		add(to, "dmesg", "nothing that was recorded shows it: see what the kernel logged");
}

/* Its own messages, and what it did last. */
static void advise_messages(const struct report *r, const char *calls, struct list *to)
{
	char options[80], command[160];

	snprintf(options, sizeof options, "%s%s", has_output(r) ? "" : "--out DIR --capture ",
	         calls);
	snprintf(command, sizeof command, RUN "%s-- COMMAND", options);
	add(to, *options ? command : NULL, "its own messages explain more: %s%s",
	    has_output(r) ? "see stderr.log in its run folder" : "keep them",
	    !*calls             ? ""
	    : keeps_last(calls) ? "; and keep the last system calls"
	                        : "; and count the system calls");
}

static void advise_segfault(const struct report *r, struct list *to)
{
	add(to, "ulimit -c unlimited", "keep a core dump, which shows where");
	if (keeps_last(missing_calls(r)))
		advise_recording("see what it did last", missing_calls(r), to);
}

/* Those that need no figures. */
static const struct {
	const char *text, *command;
} fixed[VERDICT_CODE_COUNT] = {
	[VERDICT_BUS_ERROR] = { "a mapped file was cut off, or its disk is full or broken",
	                        "df -h" },
	[VERDICT_ILLEGAL_INSTRUCTION] = { "it may be built for another CPU", "lscpu" },
	[VERDICT_ARITHMETIC_ERROR] = { "most often a division by zero; a core dump shows where",
	                               "ulimit -c unlimited" },
	[VERDICT_STACK_OVERFLOW] = { "look for recursion without end, or allow a larger stack",
	                             "ulimit -s unlimited" },
	[VERDICT_OOM_MACHINE] = { "run fewer jobs at a time, or start this one when there is room",
	                          RUN "--wait-for-room" AND_COMMAND },
	[VERDICT_OOM_DAEMON] = { "run fewer jobs at a time, or start this one when there is room",
	                         RUN "--wait-for-room" AND_COMMAND },
	[VERDICT_KILLED_BY_PROCESS] = { "ask for the reason where the signal came from", NULL },
	[VERDICT_TIMEOUT_COMMAND] = { "give timeout a longer time", NULL },
	[VERDICT_TERMINAL_HANGUP] = { "start it so that it survives the end of the session",
	                              "nohup " RUN "-- COMMAND &" },
	[VERDICT_BROKEN_PIPE] = { "the program reading its output ended first; find out why",
	                          NULL },
	[VERDICT_RLIMIT_CPU] = { "raise or remove the limit of CPU time", "ulimit -t unlimited" },
	[VERDICT_RLIMIT_FSIZE] = { "raise or remove the limit of file sizes",
	                           "ulimit -f unlimited" },
	[VERDICT_RLIMIT_AS] = { "raise or remove the limit of address space",
	                        "ulimit -v unlimited" },
	[VERDICT_FDS_EXHAUSTED] = { "raise the limit of open files, or find out which are not closed",
	                            "ulimit -n 65536" },
	[VERDICT_HUNG] = { "see what each of its processes waits for, while it hangs again",
	                   "proctor report" },
	[VERDICT_GPU_OOM] = { "use a smaller batch, or a GPU with more memory", NULL },
	[VERDICT_GPU_FAULT] = { "see what the driver logged", "dmesg | grep -i xid" },
	[VERDICT_RECORDER_LOST] = { "what ended the recorder may have ended the job: see the system log",
	                            "journalctl -e" },
	[VERDICT_MACHINE_LOST] = { "see the last messages before it went down",
	                           "journalctl -b -1 -e" },
};

size_t verdict_advice(const struct report *report, const struct verdict *v,
                      struct advice ret[static ADVICE_MAX])
{
	const struct job *job = &report->job;
	struct list to = { ret, 0 };

	if (fixed[v->code].text)
		add(&to, fixed[v->code].command, "%s", fixed[v->code].text);
	else if (v->code == VERDICT_OOM_OWN_LIMIT)
		advise_own_limit(job, &report->next, &to);
	else if (v->code == VERDICT_OOM_OUTER_LIMIT)
		advise_outer_limit(job, &report->next, &to);
	else if (v->code == VERDICT_NOT_FOUND)
		advise_program(job, "command -v", "NAME", "check the name and PATH", &to);
	else if (v->code == VERDICT_NOT_EXECUTABLE)
		advise_program(job, "chmod +x", "FILE",
		               "make it executable, or run it by its interpreter", &to);
	else if (v->code == VERDICT_TIME_LIMIT)
		advise_time(job, &to);
	else if (v->code == VERDICT_PIDS_EXHAUSTED)
		advise_pids(job, &to);
	else if (v->code == VERDICT_DISK_FULL)
		advise_disk(job, v, "df -h", "make room, or write to another disk", &to);
	else if (v->code == VERDICT_INODES_FULL)
		advise_disk(job, v, "df -i", "delete some of the many small files there", &to);
	else if (v->code == VERDICT_READ_ONLY_FS)
		advise_disk(job, v, "findmnt -T", "write elsewhere, or see why it is read-only",
		            &to);
	else if (v->code == VERDICT_UNKNOWN)
		advise_unknown(report, &to);
	else if (v->code == VERDICT_EXIT_NONZERO)
		advise_messages(report, missing_calls(report), &to);
	else if (v->code == VERDICT_ABORT)
		advise_messages(report, "", &to);
	else if (v->code == VERDICT_SEGFAULT)
		advise_segfault(report, &to);
	return to.n;
}
