# SPDX-License-Identifier: MIT
"""What one refresh of `proctor top` costs, with the process that samples for it, against btop."""
import fcntl
import os
import pty
import signal
import struct
import termios
import time
from pathlib import Path

import measure

PROCESSES = 5000
ROUNDS = 2
WINDOW_S = 4.0  # so many refreshes, one a second


def family(pid):
	"""The process and its children: the screen and its host."""
	children = Path("/proc/%d/task/%d/children" % (pid, pid)).read_text(encoding="ascii").split()
	return [pid, *map(int, children)]


def top_ms(build):
	"""CPU ms per refresh of both together: the best of two windows. Neither ends meanwhile."""
	pid, fd = pty.fork()
	if pid == 0:
		os.environ.update({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
		os.execv(build + "/proctor", ["proctor", "top", "--own", "--interval", "1"])
	try:
		fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
		measure.drain(fd, measure.WARM_UP_S)
		costs = []
		for _ in range(2):
			pids, began = family(pid), time.monotonic()
			before = sum(map(measure.cpu_ms, pids))
			measure.drain(fd, WINDOW_S)
			costs.append((sum(map(measure.cpu_ms, pids)) - before) / (time.monotonic() - began))
		return min(costs)
	finally:
		os.kill(pid, signal.SIGTERM)
		os.waitpid(pid, 0)
		os.close(fd)


def against_btop(build, table):
	with measure.Crowd(build, PROCESSES):
		measure.report_progress("a refresh of the screen with %d processes: ours, btop" % PROCESSES)
		rounds = [(top_ms(build), measure.btop_ms()) for _ in range(ROUNDS)]
	theirs = [btop for _, btop in rounds]
	table.ratio("refresh of top with own sampling, %s processes" % format(PROCESSES, ","), min(ours for ours, _ in rounds), "btop", min(theirs), 2,
		    theirs)
