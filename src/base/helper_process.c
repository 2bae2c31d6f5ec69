/* SPDX-License-Identifier: MIT */
#include "base/helper_process.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/* The processes that this one has forked as helpers: process-wide, because any thread may fork one. */
static struct {
	pthread_mutex_t lock;
	size_t count;
	struct {
		pid_t pid;
		uint64_t from_ns, to_ns; /* between which it was born; boot clock */
	} ring[HELPER_PROCESSES_MAX];
} helpers = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void add_helper(pid_t pid, uint64_t from_ns)
{
	size_t at = helpers.count++ % HELPER_PROCESSES_MAX;

	helpers.ring[at].pid = pid;
	helpers.ring[at].from_ns = from_ns;
	helpers.ring[at].to_ns = clock_boot_ns();
}

void helper_process_add(pid_t pid)
{
	pthread_mutex_lock(&helpers.lock);
	add_helper(pid, 0);
	pthread_mutex_unlock(&helpers.lock);
}

bool helper_process_is_ours(pid_t pid, uint64_t start_ns, uint64_t tick_ns)
{
	bool is_one = false;

	pthread_mutex_lock(&helpers.lock);
	for (size_t i = 0; i < MIN(helpers.count, (size_t)HELPER_PROCESSES_MAX); i++)
		is_one |= helpers.ring[i].pid == pid && start_ns <= helpers.ring[i].to_ns &&
		          start_ns + tick_ns >= helpers.ring[i].from_ns;
	pthread_mutex_unlock(&helpers.lock);
	return is_one;
}

/* The lock is held meanwhile, so that a thread that learns of the birth finds the helper; the child does not use it. A child
 * inherits its parent's name, so this thread has the helper's during the clone: reports then show it from its birth on. */
pid_t helper_process_fork(const char *name)
{
	char ours[16] = "";
	uint64_t from_ns;
	int error;
	long pid;

	pthread_mutex_lock(&helpers.lock);
	from_ns = clock_boot_ns();
	prctl(PR_GET_NAME, ours);
	prctl(PR_SET_NAME, name);
	pid = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		pthread_mutex_init(&helpers.lock, NULL);
		return 0;
	}
	error = errno;
	prctl(PR_SET_NAME, ours);
	if (pid > 0)
		add_helper((pid_t)pid, from_ns);
	pthread_mutex_unlock(&helpers.lock);
	return pid < 0 ? -error : (pid_t)pid;
}
