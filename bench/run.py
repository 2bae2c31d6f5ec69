# SPDX-License-Identifier: MIT
"""run.py BUILD: all benchmarks, each against its peer in the same run, printed as tables with target and verdict.

CPU time is what counts: of the process itself (ours, psutil, the reference) or from /proc/PID/task/*/schedstat (the others). All of it
happens in a pid namespace of its own, so that nobody sees or stores what else goes on; still the machine should be idle."""
import datetime
import os
import platform
import sys

import measure
import scan
import tick


def enter_namespace():
	"""Starts this program again, as the first process of a pid namespace."""
	if os.environ.get("PROCTOR_BENCH_INSIDE"):
		return
	os.environ["PROCTOR_BENCH_INSIDE"] = "1"
	os.execvp("unshare", ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", measure.PYTHON, *sys.argv])


def main(build):
	if os.geteuid() != 0:
		sys.exit("bench: the BPF tier needs root")
	missing = measure.missing_tools()
	if missing:
		sys.exit("bench: not installed: %s" % ", ".join(missing))
	table = measure.Table()
	print("proctor against its peers, %s, Linux %s, %d CPUs" % (datetime.date.today(), platform.release(), os.cpu_count()))
	scan.against_peers(build, table)
	rows = scan.growth(build)
	scan.print_growth(rows, table)
	tick.against_reference(build, table)
	tick.memory(build, table)
	tick.store(build, table)
	print()
	table.print()
	return 0 if table.all_met() else 1


if __name__ == "__main__":
	enter_namespace()
	sys.exit(main(sys.argv[1]))
