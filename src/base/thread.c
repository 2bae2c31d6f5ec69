/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>

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
