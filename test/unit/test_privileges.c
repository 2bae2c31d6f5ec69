/* SPDX-License-Identifier: MIT */
/* Each in a child: what is dropped does not come back. */
#include "daemon/privileges.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("NOT RUN: needs root\n");
	skip();
}

static int in_child(int (*what)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(what());
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

static int drops(void)
{
	struct err err;

	if (privileges_drop(&err) < 0)
		return 1;
	if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) || prctl(PR_CAPBSET_READ, CAP_CHOWN) ||
	    prctl(PR_CAPBSET_READ, CAP_KILL))
		return 2;
	if (!prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))
		return 3;
	if (chroot("/") == 0 || mknod("/tmp/proctor-null", S_IFCHR, makedev(1, 3)) == 0)
		return 4;
	return privileges_drop(&err) < 0 ? 5 : 0; /* a second time is fine */
}

static void test_privileges_drop__leaves_nothing_to_change_the_machine_with(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(in_child(drops), 0);
}

static int drops_as_nobody(void)
{
	struct err err;

	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 1;
	return privileges_drop(&err) < 0 ? 2 : 0;
}

static void test_privileges_drop__works_without_privileges(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(in_child(drops_as_nobody), 0);
}

RUN_TESTS(TEST(test_privileges_drop__leaves_nothing_to_change_the_machine_with),
          TEST(test_privileges_drop__works_without_privileges))
