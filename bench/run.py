# SPDX-License-Identifier: MIT
"""run.py BUILD: all benchmarks, each against its peer in the same run, printed as tables with target and verdict.

CPU time is what counts: of the process itself (ours, psutil, the reference) or from /proc/PID/stat (the others). The
machine should be idle otherwise."""
import datetime
import os
import platform
import sys

import measure
import scan


def main(build):
	missing = measure.missing_tools()
	if missing:
		sys.exit("bench: not installed: %s" % ", ".join(missing))
	table = measure.Table()
	print("proctor against its peers, %s, Linux %s, %d CPUs" % (datetime.date.today(), platform.release(), os.cpu_count()))
	scan.against_peers(build, table)
	rows = scan.growth(build)
	scan.print_growth(rows, table)
	print()
	table.print()
	return 0 if table.all_met() else 1


if __name__ == "__main__":
	sys.exit(main(sys.argv[1]))
