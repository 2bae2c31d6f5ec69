# SPDX-License-Identifier: MIT
"""turns.py < PLAN: runs commands in turn, A B C, B C A, …, so that a busy moment of the machine does not affect just one, and none always
follows the same other one: data that a run leaves to be written to disk slow the next one.

The plan is JSON: rounds, warm_up (rounds that do not count), commands {name: argv}. The answer is JSON: for each name the list of its
runs, each with wall_ms, cpu_ms (of the command and all that it reaped), the exit status, and the last line that it printed.
A separate program, so that it can run as another user and in another control group; it imports no other file of this directory."""
import json
import os
import sys
import tempfile
import time


def run_once(argv, out):
	"""One run. It is started by vfork, so that the size of this process does not count."""
	out.seek(0)
	out.truncate()
	actions = [(os.POSIX_SPAWN_DUP2, out.fileno(), 1), (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)]
	began = time.perf_counter_ns()
	pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions)
	_, status, usage = os.wait4(pid, 0)
	took = time.perf_counter_ns() - began
	out.seek(0)
	return {"wall_ms": took / 1e6, "cpu_ms": (usage.ru_utime + usage.ru_stime) * 1e3, "status": os.waitstatus_to_exitcode(status),
		"last_line": (out.read().splitlines() or [""])[-1]}


def rotated(names, by):
	by %= len(names)
	return names[by:] + names[:by]


def main():
	plan = json.load(sys.stdin)
	runs = {name: [] for name in plan["commands"]}
	with tempfile.TemporaryFile("w+") as out:
		for turn in range(plan["warm_up"] + plan["rounds"]):
			for name in rotated(list(plan["commands"]), turn):
				done = run_once(plan["commands"][name], out)
				if turn >= plan["warm_up"]:
					runs[name].append(done)
	json.dump(runs, sys.stdout)


if __name__ == "__main__":
	main()
