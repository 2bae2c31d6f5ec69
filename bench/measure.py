# SPDX-License-Identifier: MIT
"""How things are measured: crowds of processes, the CPU time of a program over some samples, tables with a verdict."""
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

HERE = Path(__file__).parent
PYTHON = "/usr/bin/python3"
WARM_UP_S = 2.0
WINDOW = 3  # ticks in a row over which a cost is averaged; the cheapest window counts
POLL_S, REST_S = 0.05, 0.25
UNSTEADY = 0.2  # repetitions that differ by more are flagged


class Crowd:
	"""So many idle processes, and so many that are always a little busy, for the length of a `with`."""

	def __init__(self, build, idle, busy=0):
		self.command = [str(Path(build) / "bench/spawn"), str(idle), str(busy)]

	def __enter__(self):
		self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		if self.process.stdout.readline() != "ready\n":
			raise RuntimeError("could not start the crowd: " + " ".join(self.command))
		time.sleep(0.5)
		return self

	def __exit__(self, *ignored):
		self.process.stdin.close()
		self.process.stdout.close()
		self.process.wait(timeout=120)


def cpu_ms(pid):
	"""CPU time of all threads, to the nanosecond."""
	total = 0
	for task in Path("/proc/%d/task" % pid).iterdir():
		try:
			total += int((task / "schedstat").read_text(encoding="utf-8").split()[0])
		except (FileNotFoundError, ProcessLookupError):
			continue
	return total / 1e6


def run_json(command, timeout=600, **options):
	"""The one line of JSON that a program prints."""
	done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, timeout=timeout, check=True, **options)
	return json.loads(done.stdout.splitlines()[-1])


def least(costs):
	"""What it costs when nothing gets in the way: the cheapest few in a row."""
	return min(statistics.mean(costs[i:i + WINDOW]) for i in range(len(costs) - WINDOW + 1))


def is_unsteady(figures):
	"""Whether repetitions of a measurement differ too much to be compared with."""
	return len(figures) > 1 and max(figures) - min(figures) > UNSTEADY * min(figures)


def halves(values, figure=statistics.median):
	"""A measurement of many runs as two repetitions."""
	middle = len(values) // 2
	return [figure(values[:middle]), figure(values[middle:])] if middle else []


def scan_ms(build, how, ticks=10, interval_ms=300):
	"""(CPU ms per snapshot, processes) of our own scan: bpf, proc, the task probe alone, or the bare iterator."""
	result = run_json([Path(build) / "bench/scan", how, ticks, interval_ms])
	if how == "bpf" and result["tiers"].get("tasks") != "tasks-bpf":
		raise RuntimeError("the BPF tier is not in use here: %s" % result["tiers"])
	return least(result["cpu_us"]) / 1000, result["processes"]


def drain(fd, seconds):
	"""Reads what a program paints, so that it never waits for a reader."""
	end = time.monotonic() + seconds
	while (left := end - time.monotonic()) > 0:
		if select.select([fd], [], [], left)[0]:
			try:
				os.read(fd, 1 << 16)
			except OSError:
				return


def bursts_ms(pid, wait, count=4):
	"""CPU ms of each sample of a running program that takes one about once a second. Its period is longer than its delay by what
	a sample takes, so samples are recognised by the pauses between them, not by the clock. `wait` passes the time."""
	costs, last, quiet_s, end = [0.0], cpu_ms(pid), 0.0, time.monotonic() + 3 * count
	while len(costs) < count + 2 and time.monotonic() < end:
		wait(POLL_S)
		now = cpu_ms(pid)
		if now - last < 0.5:  # an odd wake-up is no sample
			quiet_s += POLL_S
		else:
			if quiet_s >= REST_S:
				costs.append(0.0)
			quiet_s = 0.0
			costs[-1] += now - last
		last = now
	return costs[1:-1]  # the first may have begun before the measurement, the last may go on


def painted_ms(command, env=None):
	"""CPU ms per refresh of a program that paints a terminal."""
	pid, fd = pty.fork()
	if pid == 0:
		os.environ.update({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(env or {})})
		os.execvp(command[0], command)
	try:
		fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
		drain(fd, WARM_UP_S)
		return least(bursts_ms(pid, lambda seconds: drain(fd, seconds)))
	finally:
		os.kill(pid, signal.SIGKILL)
		os.waitpid(pid, 0)
		os.close(fd)


def btop_ms():
	with tempfile.TemporaryDirectory() as config:
		(Path(config) / "btop").mkdir()
		(Path(config) / "btop/btop.conf").write_text("update_ms = 1000\n", encoding="utf-8")
		return painted_ms(["btop", "--utf-force"], env={"XDG_CONFIG_HOME": config})


def htop_ms():
	with tempfile.TemporaryDirectory() as config:
		return painted_ms(["htop", "-d", "10"], env={"XDG_CONFIG_HOME": config, "HOME": config})


def atop_ms():
	"""atop as a recorder: it writes its samples into a file."""
	with tempfile.TemporaryDirectory() as place:
		process = subprocess.Popen(["atop", "-w", place + "/raw", "1"], stdout=subprocess.DEVNULL)
		try:
			time.sleep(WARM_UP_S)
			return least(bursts_ms(process.pid, time.sleep))
		finally:
			process.kill()
			process.wait()


def psutil_ms(samples=4):
	return least(run_json([PYTHON, HERE / "psutil_scan.py", samples])["cpu_ms"])


def missing_tools(tools):
	return [tool for tool in tools if not shutil.which(tool)]


class Table:
	"""Lines of (what, ours, against what, ratio, target, verdict, note), printed together. `repeats` are the peer's figures, one for each
	repetition: where they are not steady the row is marked."""

	def __init__(self):
		self.rows = []

	def add(self, what, ours, against, ratio, target, is_met, repeats=()):
		self.rows.append((what, ours, against, ratio, target, is_met, "unsteady" if is_unsteady(repeats) else ""))

	def ratio(self, what, ours, peer, theirs, most, repeats=()):
		"""Ours must be at most theirs / most."""
		self.add(what, "%.2f ms" % ours, "%s %.1f ms" % (peer, theirs), "1/%.1f" % (theirs / ours), "≤ 1/%g" % most,
			 ours * most <= theirs, repeats)

	def limit(self, what, value, unit, most, against=""):
		self.add(what, "%.4g %s" % (value, unit), against, "", "≤ %g %s" % (most, unit), value <= most)

	def times(self, what, ours, peer, theirs, most, repeats=()):
		"""Ours may be at most so many times theirs."""
		self.add(what, "%.2f ms" % ours, "%s %.2f ms" % (peer, theirs), "%.2f ×" % (ours / theirs), "≤ %g ×" % most,
			 ours <= theirs * most, repeats)

	def check(self, what, found, against, target, is_met):
		self.add(what, found, against, "", target, is_met)

	def note(self, what, text, against=""):
		"""Something to know, without a target."""
		self.add(what, text, against, "", "", None)

	def print(self):
		lines = [("what", "ours", "peer, same run", "ratio", "target", "", "")]
		lines += [(*row[:5], {None: "", True: "met", False: "MISSED"}[row[5]], row[6]) for row in self.rows]
		widths = [max(len(line[i]) for line in lines) for i in range(7)]
		for line in lines:
			print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
		if any(row[6] for row in self.rows):
			print("unsteady: the peer's figures differed by more than %.0f %% between repetitions" % (100 * UNSTEADY))

	def all_met(self):
		return all(row[5] is not False for row in self.rows)


def report_progress(text):
	"""Progress on a terminal; not part of the result."""
	if sys.stderr.isatty():
		print(text, file=sys.stderr, flush=True)
