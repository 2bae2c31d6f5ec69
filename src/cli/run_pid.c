/* SPDX-License-Identifier: MIT */
#include "cli/run_pid.h"

#include <string.h>

#include "base/log.h"
#include "cli/run_announcer.h"

#define WORDS_MAX 64 /* of a command line that is not ours */

/* It is named after its program, as a command is. */
int run_pid_name_job(const struct run_options *o, struct pidhost_target *ret_target,
                     struct job *ret_job, struct err *err)
{
	struct buf *command = &ret_target->command;
	char *argv[WORDS_MAX + 1];
	int argc = 0;

	if (pidhost_examine((pid_t)o->pid, ret_target, err) < 0)
		return -err->code;
	for (size_t at = 0; at + 1 < command->len && argc < WORDS_MAX;
	     at += strlen(command->at + at) + 1)
		argv[argc++] = command->at + at;
	argv[argc] = NULL;
	return run_options_name_job(o, argc, argv, ret_job, err);
}

/* As its end was, if that is known; when we were interrupted, all is well. */
static int status_of(const struct run_recording *r)
{
	const struct job *job = &r->last;

	if (r->goes_on)
		return CLI_OK;
	if (job->signal)
		return 128 + job->signal;
	return job->has_exit_code ? job->exit_code : CLI_FAILED;
}

int run_pid(struct run_recording *r, const struct pidhost_target *target)
{
	struct pidhost_options options = { .job = &r->job,
		                           .id = target->id,
		                           .set_pipeline = run_recording_set_pipeline,
		                           .self = r };
	cleanup(loop_freep) struct loop *loop = NULL;
	cleanup(pidhost_freep) struct pidhost *host = NULL;
	struct run_announcer *announcer;
	struct engine_totals totals;
	struct err err;

	run_recording_set_engine(r, &options.engine);
	r->watched_age_ns = target->age_ns;
	if (loop_new(&loop, &err) < 0 || pidhost_new(loop, &options, &host, &err) < 0)
		return cli_command_failed(NULL, &err);
	announcer = run_announcer_new(
		loop, &(struct run_announcer_options){ .engine = pidhost_engine(host),
	                                               .job = pidhost_job(host),
	                                               .pid = target->id.pid,
	                                               .counts_from_now = true });
	run_recording_watch(r, loop, pidhost_engine(host));
	if (pidhost_run(host, &err) < 0)
		log_warn("%s", err.msg);
	run_recording_unwatch(r);
	run_announcer_connect(announcer);
	r->goes_on = pidhost_finish(host, &totals);
	run_announcer_end(announcer, &r->last, totals.recorder.has_end);
	run_announcer_free(announcer);
	latest_snapshot_done(&r->latest);
	run_recording_end_folder(r, &totals.recorder);
	run_recording_print_end(r, &totals);
	if (!r->goes_on && !r->last.has_exit_code && !r->last.signal && !r->options->quiet)
		log_warn("process %llu has ended; its exit status is not known",
		         (unsigned long long)r->options->pid);
	return status_of(r);
}
