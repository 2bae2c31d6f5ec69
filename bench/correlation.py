# SPDX-License-Identifier: MIT
"""What `proctor insights` finds where there is nothing and where an effect was planted, and whether its confidence holds: correlation.c."""
import os
import re
import subprocess
from pathlib import Path

ROW = re.compile(r" *(\d+) +(\d+) +(\d+) % -> +(\d+) % +([\d.]+) % +(at most|at least) +(\d+) % +([\d.]+) % +([\d.]+)")
CLASS = re.compile(r"<= ([\d.]+) +(\d+) +([\d.]+) +([\d.]+)")
OFF, FEW = .12, 50  # how far the share that held may be from the confidence; fewer findings show nothing


def run_parts(build, count):
	"""The lines of each part; all parts run at the same time."""
	parts = [subprocess.Popen([str(Path(build) / "bench" / "correlation"), str(i), str(count)], stdout=subprocess.PIPE, text=True) for i in range(count)]
	for part in parts:
		output = part.communicate()[0]
		if part.returncode:
			raise RuntimeError("correlation: status %d" % part.returncode)
		yield output.splitlines()


def against_targets(build, table):
	lines = [line for part in run_parts(build, os.cpu_count()) for line in part]
	for jobs, features, low, high, found, bound, target, bins, _ in (row.groups() for row in map(ROW.match, lines) if row):
		is_met = float(found) <= float(target) if bound == "at most" else float(found) >= float(target)
		table.add("%s jobs, %s properties, %s → %s %%" % (jobs, features, low, high), "%s %% found" % found, "rates in bins %s %%" % bins, "",
			  "%s %s %%" % ("≤" if bound == "at most" else "≥", target), is_met)
	for upper, findings, claimed, held in (row.groups() for row in map(CLASS.match, lines) if row):
		if int(findings) >= FEW:
			table.add("confidence to %s" % upper, "%s claimed" % claimed, "%s held, of %s" % (held, findings), "", "± %g" % OFF,
				  abs(float(claimed) - float(held)) <= OFF)
