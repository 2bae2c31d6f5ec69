/* SPDX-License-Identifier: MIT */
#include "engine/watch_target.h"

#include <errno.h>
#include <unistd.h>

#include "kernel/process_lookup.h"
#include "model/own_process.h"

#define KTHREADD 2        /* the parent of all kernel threads */
#define ANCESTORS_MAX 256 /* a pid may be reused while they are read */

/* It has no memory; one that is ending has none either. In a container pid 2 may be anything. */
static bool is_kernel_thread(struct process_reader *reader, const struct process_files_stat *st)
{
	struct proc_readings now;

	return (st->pid == KTHREADD || st->ppid == KTHREADD) &&
	       process_lookup_usage(reader, (struct proc_id){ st->pid, st->start_ticks }, &now) &&
	       !readings_or(&now, PROC_VMS, 1);
}

int watch_target_check_member(struct process_reader *reader, pid_t pid, struct err *err)
{
	struct process_files_stat st;

	if (pid == 1)
		return err_set(
			err, EINVAL,
			"process 1 is the parent of all: give the pid of the job's own first "
			"process, or watch the machine with proctor record");
	if (pid == getpid())
		return err_set(err, EINVAL,
		               "process %d is this proctor itself, which watches: give the pid of "
		               "the job's own first process",
		               pid);
	if (process_lookup_stat(reader, pid, &st) && is_kernel_thread(reader, &st))
		return err_set(err, EINVAL,
		               "process %d (%s) is a kernel thread and belongs to no job: give the "
		               "pid of a program",
		               pid, st.comm);
	return 0;
}

int watch_target_check_first(struct process_reader *reader, pid_t pid, pid_t recorder,
                             struct err *err)
{
	struct process_files_stat st;

	if (watch_target_check_member(reader, pid, err) < 0)
		return -err->code;
	if (process_lookup_stat(reader, pid, &st) && own_process_has_name(st.comm) &&
	    (!recorder || st.ppid != recorder))
		return err_set(
			err, EINVAL,
			"process %d (%s) is proctor's own, which records: give the pid of the "
			"command that it runs",
			pid, st.comm);
	return 0;
}

int watch_target_check_ancestor(struct process_reader *reader, pid_t pid, struct err *err)
{
	struct process_files_stat st = { .ppid = getppid() };

	for (int i = 0; i < ANCESTORS_MAX && st.ppid > 1; i++) {
		pid_t at = st.ppid;

		if (!process_lookup_stat(reader, at, &st))
			return 0;
		if (at == pid)
			return err_set(
				err, EINVAL,
				"process %d (%s) has started this proctor, so each would wait "
				"for the other: start proctor elsewhere, or with setsid -f",
				pid, st.comm);
	}
	return 0;
}
