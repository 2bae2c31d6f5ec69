# SPDX-License-Identifier: MIT
"""The daemon and its overhead budget: it steps back for what ticks cost, and for nothing that others make it do."""
import os
import threading
import time

import pytest

from daemonkit import cold  # noqa: F401 pylint: disable=unused-import

# Rare ticks, so that they fit the budget by far with sanitizers, too. They are judged by the mean of ten seconds, and the first three are not.
INTERVAL_S = 3
BUSY_S = 22.0


def ask_all_the_time(daemon, until, uid):
	with daemon.line(uid) as line:
		while time.monotonic() < until:
			assert "result" in line.call("context.get")
			time.sleep(0.001)  # often enough


def fork_all_the_time(until):
	while time.monotonic() < until:
		for _ in range(20):
			pid = os.fork()
			if pid == 0:
				os._exit(0)
			os.waitpid(pid, 0)
		time.sleep(0.05)  # some 300 forks a second


@pytest.mark.needs_root
def test_nobody_can_make_it_step_back_by_asking_and_forking(cold):
	cold.config.write_text("[profiler]\ninterval_seconds = %d\n" % INTERVAL_S, encoding="utf-8")
	daemon = cold.start()
	until = time.monotonic() + BUSY_S
	began_s = daemon.result("daemon.status")["cpu_seconds"]
	forker = os.fork()
	if forker == 0:
		try:
			fork_all_the_time(until)
		finally:
			os._exit(0)
	asker = threading.Thread(target=ask_all_the_time, args=(daemon, until, 65534))
	asker.start()
	asker.join()
	os.waitpid(forker, 0)
	status = daemon.result("daemon.status")
	assert (status["cpu_seconds"] - began_s) / BUSY_S > 0.02, status["cpu_seconds"] - began_s  # far above the budget of 1 %, …
	assert status["interval_seconds"] == INTERVAL_S
	assert "budget" not in daemon.log_text(), daemon.log_text()  # … but ticks were not what took it
