/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *self), void *self)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	if (stack_bytes)
		pthread_attr_setstacksize(&attr, stack_bytes);
	error = pthread_create(ret, &attr, run, self);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

/* The processes that this one has forked as helpers: process-wide, because any thread may fork one. */
static struct {
	pthread_mutex_t lock;
	size_t count;
	struct {
		pid_t pid;
		uint64_t from_ns, to_ns; /* between which it was born; boot clock */
	} ring[THREAD_HELPERS_MAX];
} helpers = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void add_helper(pid_t pid, uint64_t from_ns)
{
	size_t at = helpers.count++ % THREAD_HELPERS_MAX;

	helpers.ring[at].pid = pid;
	helpers.ring[at].from_ns = from_ns;
	helpers.ring[at].to_ns = clock_boot_ns();
}

void thread_add_helper(pid_t pid)
{
	pthread_mutex_lock(&helpers.lock);
	add_helper(pid, 0);
	pthread_mutex_unlock(&helpers.lock);
}

bool thread_is_helper(pid_t pid, uint64_t start_ns, uint64_t tick_ns)
{
	bool is_one = false;

	pthread_mutex_lock(&helpers.lock);
	for (size_t i = 0; i < MIN(helpers.count, (size_t)THREAD_HELPERS_MAX); i++)
		is_one |= helpers.ring[i].pid == pid && start_ns <= helpers.ring[i].to_ns &&
		          start_ns + tick_ns >= helpers.ring[i].from_ns;
	pthread_mutex_unlock(&helpers.lock);
	return is_one;
}

/* The lock is held meanwhile, so that a thread that learns of the birth finds the helper; the child does not use it. A child
 * inherits its parent's name, so this thread has the helper's during the clone: reports then show it from its birth on. */
pid_t thread_fork_helper(const char *name)
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
