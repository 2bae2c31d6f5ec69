# SPDX-License-Identifier: MIT
"""run.py BUILD [--only PART,…]: the usual benchmarks (or these), each against its peer in the same run, printed as tables with target and verdict.

CPU time is what counts: of the process itself (ours, psutil, the reference) or from /proc/PID/task/*/schedstat (the others). Scans of
the whole machine run in a pid namespace of their own, so that no program sees or stores what else runs; jobs do not, because the
kernel reports births only outside. The machine should be idle."""
import argparse
import datetime
import os
import platform
import subprocess
import sys

import correlation
import daemon
import launch
import learning
import measure
import scan
import screen
import starve
import tick


def scans(build, table):
	scan.against_peers(build, table)
	scan.print_growth(scan.growth(build), table)


def ticks(build, table):
	tick.against_reference(build, table)
	tick.memory(build, table)
	tick.store(build, table)


MACHINE = {"scan": scans, "tick": ticks, "top": screen.against_btop, "daemon": daemon.against_numbers, "starve": starve.against_numbers, "learning": learning.against_baselines,
           "correlation": correlation.against_targets}  # parts other than launch; most scan the whole machine

USUAL = ("start", "storm", "peak", "memory", "slow", "scan", "tick")  # the others take as long again: --only

PEERS = {"scan": ("atop", "btop", "htop"), "memory": ("atop",), "syscalls": ("strace",)}  # programs that a part is compared with


def arguments():
	parser = argparse.ArgumentParser(description="proctor against its peers")
	parser.add_argument("build", help="the build tree")
	parser.add_argument("--only", help="parts, separated by commas: %s; launch: the last %d. Else: %s" %
			    (", ".join([*MACHINE, *launch.PARTS]), len(launch.PARTS), ", ".join(USUAL)))
	parser.add_argument("--ahead", action="store_true", help="ahead of all others, at real-time priority: for short parts on a busy machine")
	given = parser.parse_args()
	if given.ahead:
		os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(5))
	parts = (given.only or ",".join(USUAL)).replace("launch", ",".join(launch.PARTS)).split(",")
	unknown = set(parts) - set(MACHINE) - set(launch.PARTS)
	if unknown:
		parser.error("unknown: " + ", ".join(sorted(unknown)))
	return given.build, parts


def run_in_namespace(build, parts):
	"""This program again in a pid namespace, for these parts. It is not the first process there, which can be no job. True if all
	was met."""
	sys.stdout.flush()
	inside = ["sh", "-c", '"$@"; exit', "sh", measure.PYTHON, __file__, build, "--only", ",".join(parts)]
	command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", *inside]
	return subprocess.run(command, env={**os.environ, "PROCTOR_BENCH_INSIDE": "1"}, check=False).returncode == 0


def print_table(table):
	print()
	table.print()
	return table.all_met()


def main(build, parts):
	if os.geteuid() != 0:
		sys.exit("bench: the BPF tier needs root")
	missing = measure.missing_tools(sorted({tool for part in parts for tool in PEERS.get(part, ())}))
	if missing:
		sys.exit("bench: not installed: %s" % ", ".join(missing))
	machine, jobs = [part for part in parts if part in MACHINE], [part for part in parts if part in launch.PARTS]
	table, all_met = measure.Table(), True
	if os.environ.get("PROCTOR_BENCH_INSIDE"):
		for part in machine:
			MACHINE[part](build, table)
		return print_table(table)
	print("proctor against its peers, %s, Linux %s, %d CPUs" % (datetime.date.today(), platform.release(), os.cpu_count()))
	if jobs:
		launch.against_peers(build, table, jobs)
		all_met = print_table(table)
	if machine:
		all_met &= run_in_namespace(build, machine)
	return all_met


if __name__ == "__main__":
	sys.exit(0 if main(*arguments()) else 1)
