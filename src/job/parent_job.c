/* SPDX-License-Identifier: MIT */
#include "job/parent_job.h"

#include <string.h>

#include "kernel/process_lookup.h"
#include "model/own_process.h"

#define ANCESTORS_MAX 256 /* a pid may be reused while they are read */

const struct job *parent_job_of(const struct jobs *jobs, pid_t pid)
{
	for (int i = 0; i < ANCESTORS_MAX && pid > 0; i++) {
		struct process_files_stat st;
		job_handle job;

		if (!process_lookup_stat(jobs->reader, pid, &st))
			return NULL;
		job = job_roster_find(&jobs->roster, (struct proc_id){ pid, st.start_ticks }).job;
		if (job >= 0)
			return &job_roster_get(&jobs->roster, job)->job;
		pid = st.ppid;
	}
	return NULL;
}

/* Options may stand before the verb, and their values may be words of their own. */
bool parent_job_is_run(struct scan command_line)
{
	bool may_be_value = true; /* the program's own name */
	struct scan word;

	while (scan_until(&command_line, '\0', &word)) {
		bool is_option = scan_left(&word) > 1 && word.p[0] == '-';

		if (scan_eq(&word, "run"))
			return true;
		if (scan_eq(&word, "--") || (!is_option && !may_be_value))
			return false;
		may_be_value = is_option && !memchr(word.p, '=', scan_left(&word));
	}
	return false;
}

/* Uid:	1000	1000	1000	1000
 * Not the owner of its directory in /proc, which is root for a program with capabilities of its own. */
static bool find_user(struct scan status, uid_t *ret)
{
	struct scan line;

	while (scan_line(&status, &line)) {
		uint64_t real, effective;

		if (!scan_lit(&line, "Uid:"))
			continue;
		if (!scan_u64(&line, &real) || !scan_u64(&line, &effective) || real != effective)
			return false;
		*ret = (uid_t)effective;
		return true;
	}
	return false;
}

bool parent_job_recorder_user(struct process_reader *reader, pid_t pid, uid_t *ret)
{
	for (int i = 0; i < ANCESTORS_MAX && pid > 0; i++) {
		struct process_request q = { .pid = pid,
			                     .files = 1U << PROCESS_STAT | 1U << PROCESS_STATUS |
			                              1U << PROCESS_CMDLINE };
		struct process_files_stat st;

		process_reader_read(reader, &q, 1);
		if (q.error || !process_files_parse_stat(q.text[PROCESS_STAT], &st))
			return false;
		if (strcmp(st.comm, OURS_NAME) == 0 && parent_job_is_run(q.text[PROCESS_CMDLINE]))
			return find_user(q.text[PROCESS_STATUS], ret);
		pid = st.ppid;
	}
	return false;
}
