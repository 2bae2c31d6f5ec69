# SPDX-License-Identifier: MIT
"""`proctor daemon` that was held up: what waits in the kernel is stored, and what found no room there is reported everywhere."""
import signal
import subprocess

import pytest

from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import wait_for

pytestmark = pytest.mark.needs_root

CROWD = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--) {
		pid_t pid = vfork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}
"""


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
	"""A program that has so many children."""
	place = tmp_path_factory.mktemp("crowd")
	(place / "crowd.c").write_text(CROWD, encoding="utf-8")
	subprocess.run(["cc", "-O2", "-o", place / "crowd", place / "crowd.c"], check=True)
	return place / "crowd"


def hold_up(daemon, crowd, births):
	"""Its losses when it has read what came meanwhile."""
	daemon.process.send_signal(signal.SIGSTOP)
	try:
		subprocess.run([crowd, str(births)], check=True, timeout=120)
	finally:
		daemon.process.send_signal(signal.SIGCONT)
	before = daemon.result("daemon.top")["seq"]
	wait_for(lambda: daemon.result("daemon.top")["seq"] > before + 2)
	return daemon.result("daemon.status")["losses"]


def ask(daemon, query):
	return daemon.proctor.sql(query)[0]["n"]


def test_what_waited_in_the_kernel_is_all_stored(daemon, crowd):
	"""It is read faster than it can be written, and that is no reason to lose some."""
	births = 12000
	losses = hold_up(daemon, crowd, births)
	assert (losses["events"], losses["unread_events"], losses["snapshots"]) == (0, 0, 0)
	assert daemon.stop() == 0
	assert ask(daemon, "SELECT count(*) AS n FROM process_events WHERE event_type = 'spawn'") >= births


def test_lost_events_are_reported_everywhere(daemon, crowd):
	losses = hold_up(daemon, crowd, 60000)
	assert losses["unread_events"] > 1000 and losses["events"] == 0, losses
	assert "losses     %s events not read, 0 not stored;" % format(losses["unread_events"], ",") in daemon.proctor("status").stdout
	assert daemon.stop() == 0
	assert "%s events arrived too fast to be read" % format(losses["unread_events"], ",") in daemon.log_text()
	assert ask(daemon, "SELECT sum(count) AS n FROM recorder_events WHERE event_type = 'loss'") == losses["unread_events"]
	assert ask(daemon, "SELECT count(*) AS n FROM recorder_events WHERE details LIKE '%not stored%'") == 0
