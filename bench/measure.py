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
WARM_UP_S = 3.0


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


def cpu_seconds(pid):
	"""User and system time of all threads, dead ones included. The kernel gives it in ticks that add up to the truth."""
	text = Path("/proc/%d/stat" % pid).read_text(encoding="utf-8", errors="replace")
	fields = text[text.rindex(")") + 2:].split()
	return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid, key="VmRSS"):
	for line in Path("/proc/%d/status" % pid).read_text(encoding="utf-8").splitlines():
		if line.startswith(key + ":"):
			return int(line.split()[1]) / 1024
	raise RuntimeError("no %s of %d" % (key, pid))


def run_json(command, timeout=600, **options):
	"""The one line of JSON that a program prints."""
	done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True, timeout=timeout, check=True, **options)
	return json.loads(done.stdout.splitlines()[-1])


def scan_ms(build, how, ticks=10, interval_ms=1000):
	"""(CPU ms per snapshot, processes) of our own scan: bpf, proc, or the bare iterator."""
	told = run_json([Path(build) / "bench/scan", how, ticks, interval_ms])
	if how == "bpf" and told["tiers"].get("tasks") != "tasks-bpf":
		raise RuntimeError("the BPF tier does not play here: %s" % told["tiers"])
	return statistics.median(told["cpu_us"]) / 1000, told["processes"]


def drain(fd, seconds):
	"""Reads what a program paints, so that it never has to wait for us."""
	end = time.monotonic() + seconds
	while (left := end - time.monotonic()) > 0:
		if select.select([fd], [], [], left)[0]:
			try:
				os.read(fd, 1 << 16)
			except OSError:
				return


def painted_ms(command, seconds=10.0, env=None):
	"""CPU ms per second of a program that paints a terminal once a second."""
	pid, fd = pty.fork()
	if pid == 0:
		os.environ.update({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(env or {})})
		os.execvp(command[0], command)
	try:
		fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
		drain(fd, WARM_UP_S)
		before, began = cpu_seconds(pid), time.monotonic()
		drain(fd, seconds)
		return (cpu_seconds(pid) - before) * 1000 / (time.monotonic() - began)
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


def atop_ms(seconds=10.0):
	"""atop as a recorder: it writes its samples into a file."""
	with tempfile.TemporaryDirectory() as place:
		process = subprocess.Popen(["atop", "-w", place + "/raw", "1"], stdout=subprocess.DEVNULL)
		try:
			time.sleep(WARM_UP_S)
			before, began = cpu_seconds(process.pid), time.monotonic()
			time.sleep(seconds)
			return (cpu_seconds(process.pid) - before) * 1000 / (time.monotonic() - began)
		finally:
			process.kill()
			process.wait()


def psutil_ms(samples=5):
	return run_json([PYTHON, HERE / "psutil_scan.py", samples])["cpu_ms"]


def missing_tools():
	return [tool for tool in ("btop", "atop", "htop") if not shutil.which(tool)]


class Table:
	"""Lines of (what, ours, against what, ratio, target, verdict), printed together."""

	def __init__(self):
		self.rows = []

	def ratio(self, what, ours, peer, theirs, most):
		"""Ours must be at most theirs / most."""
		ok = ours * most <= theirs
		self.rows.append((what, "%.2f ms" % ours, "%s %.1f ms" % (peer, theirs), "1/%.1f" % (theirs / ours),
				  "≤ 1/%g" % most, ok))

	def limit(self, what, value, unit, most, against=""):
		self.rows.append((what, "%.3g %s" % (value, unit), against, "", "≤ %g %s" % (most, unit), value <= most))

	def print(self):
		lines = [("what", "ours", "peer, same run", "ratio", "target", "")]
		lines += [(*row[:5], "met" if row[5] else "MISSED") for row in self.rows]
		widths = [max(len(line[i]) for line in lines) for i in range(6)]
		for line in lines:
			print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())

	def all_met(self):
		return all(row[5] for row in self.rows)


def say(text):
	"""Progress, for who watches; not part of the result."""
	if sys.stderr.isatty():
		print(text, file=sys.stderr, flush=True)
