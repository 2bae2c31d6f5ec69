# SPDX-License-Identifier: MIT
"""The daemon: what it costs to watch, a thousand clients, and twenty thousand events a second."""
import contextlib
import json
import os
import resource
import select
import socket
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import measure
import stage

PROCESSES, CLIENTS, SUBSCRIBERS = 1000, 1000, 500
EVENT_RATE, EVENT_SECONDS = 20000, 5  # a birth is one and an end is one, so this is half as many forks
EVENT_PARENTS = 4  # one alone makes some 12,000
EVENT_SPARE = 1.1  # request so many times more: late forks would lower the rate
CALLS = 200


@contextlib.contextmanager
def running(build, place, interval_s):
	"""A daemon with a store of its own; gives its process and its socket."""
	place = Path(place)
	place.mkdir(parents=True)
	path = place / "sock"
	command = [str(Path(build) / "proctor"), "daemon", "--state-dir", str(place), "--socket", str(path), "--interval", str(interval_s)]
	with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as daemon:
		try:
			while not path.exists():
				if daemon.poll() is not None:
					raise RuntimeError("no daemon: " + daemon.stderr.read())
				time.sleep(0.05)
			yield daemon, path
		finally:
			daemon.terminate()


def resident_kib(pid):
	for line in Path("/proc/%d/status" % pid).read_text(encoding="utf-8").splitlines():
		if line.startswith("VmRSS:"):
			return int(line.split()[1])
	raise RuntimeError("no VmRSS")


class Line:
	"""One connection, JSON a line."""

	def __init__(self, path):
		self.sock = socket.socket(socket.AF_UNIX)
		self.sock.connect(str(path))
		self.sock.settimeout(30)  # only now: before, the call waits for a full queue
		self.bytes = b""

	def send(self, method, **params):
		self.sock.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")

	def answer(self):
		while True:
			while b"\n" not in self.bytes:
				more = self.sock.recv(1 << 18)
				if not more:
					raise RuntimeError("the daemon hung up")
				self.bytes += more
			line, _, self.bytes = self.bytes.partition(b"\n")
			message = json.loads(line)
			if "id" in message:
				assert "result" in message, message
				return message["result"]

	def call(self, method, **params):
		self.send(method, **params)
		return self.answer()


# ---- watching ---------------------------------------------------------------------------------

def watching(build, place, table):
	for interval_s, seconds, most in ((1, 10, 0.5), (5, 15, 0.1)):
		measure.report_progress("%d processes every %d s" % (PROCESSES, interval_s))
		with measure.Crowd(build, PROCESSES), running(build, place / ("watch-%d" % interval_s), interval_s) as (daemon, _):
			time.sleep(interval_s + 3)
			before, begun = measure.cpu_ms(daemon.pid), time.monotonic()
			time.sleep(seconds)
			share = (measure.cpu_ms(daemon.pid) - before) / (time.monotonic() - begun) / 10
			table.limit("daemon, %d processes, %d s: CPU" % (PROCESSES, interval_s), share, "% of a core", most)
			table.limit("daemon, %d processes, %d s: resident" % (PROCESSES, interval_s), resident_kib(daemon.pid) / 1024, "MB", 16)


# ---- many clients -----------------------------------------------------------------------------

def drain(lines):
	"""Reads what subscribers are sent, so that none of them lags."""
	by_fd = {line.sock.fileno(): line for line in lines}
	for fd in select.select(list(by_fd), [], [], 0)[0] if len(by_fd) < 1000 else []:
		by_fd[fd].sock.recv(1 << 18)


def times_of(line, count, pause=0.0, also=lambda: None):
	took = []
	for _ in range(count):
		begun = time.monotonic()
		line.call("daemon.top")
		took.append((time.monotonic() - begun) * 1e3)
		also()
		time.sleep(pause)
	return sorted(took)


def clients(build, place, table):
	measure.report_progress("%d clients, %d of them subscribed" % (CLIENTS, SUBSCRIBERS))
	resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
	with running(build, place / "clients", 1) as (daemon, path):
		line = Line(path)
		time.sleep(2.5)
		alone = times_of(line, 50)
		before = resident_kib(daemon.pid)
		idle = [Line(path) for _ in range(CLIENTS - SUBSCRIBERS - 1)]
		subscribed = [Line(path) for _ in range(SUBSCRIBERS)]
		for one in subscribed:
			one.call("bus.subscribe")
		took = times_of(line, CALLS, 0.02, lambda: drain(subscribed))
		growth = (resident_kib(daemon.pid) - before) / CLIENTS
		missed = line.call("daemon.status")["losses"]["missed_ticks"]
		table.limit("daemon.top with %d clients: p99" % CLIENTS, took[int(len(took) * 0.99) - 1], "ms", 50, "alone %.2f ms" % alone[len(alone) // 2])
		table.limit("memory of the daemon for a client", growth, "KiB", 64)
		table.limit("ticks that were missed meanwhile", missed, "", 0)
		for one in [*idle, *subscribed, line]:
			one.sock.close()


# ---- many events ------------------------------------------------------------------------------

QUIET_S = 4  # after so long without events, all have arrived


def count_heard(line):
	"""Births and ends that a subscriber received, and events that it was reported to have lost, until no more come."""
	heard = lost = 0
	line.sock.settimeout(QUIET_S)
	while True:
		try:
			line.bytes += line.sock.recv(1 << 20)
		except TimeoutError:
			return heard, lost
		*whole, line.bytes = line.bytes.split(b"\n")
		for text in whole:
			message = json.loads(text)
			if message.get("method") == "bus.lagged":
				lost += message["params"]["lost"]
			elif message.get("method") == "bus.event":
				heard += message["params"]["event"] in ("process.spawn", "process.exit")


def events(build, place, table):
	measure.report_progress("%d events a second for %d s" % (EVENT_RATE, EVENT_SECONDS))
	with running(build, place / "events", 1) as (daemon, path):
		with Line(path).sock:
			pass
		line = Line(path)
		line.call("job.start", job_id="storm", job_type="storm", pid=os.getpid())
		line.call("bus.subscribe", filter="process.", job_id="storm")
		command = [str(Path(build) / "bench/forks"), *map(str, (int(EVENT_RATE * EVENT_SPARE / 2), EVENT_SECONDS, EVENT_PARENTS))]
		before = measure.cpu_ms(daemon.pid)
		with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as storm:
			heard, lost = count_heard(line)
			words = storm.stdout.read().split()
		spent_ms = measure.cpu_ms(daemon.pid) - before
		status = Line(path).call("daemon.status")
	happened, in_ms = 2 * (int(words[1]) + 1), int(words[3])  # with the program that forks
	db = sqlite3.connect(place / "events/proctor.db")
	stored = db.execute("SELECT count(*) FROM process_events WHERE job_id = 'storm' AND event_type IN ('spawn', 'exit')").fetchone()[0]
	losses = status["losses"]
	not_there = losses["events"] + losses["unread_events"]
	rate = 1e3 * happened / in_ms
	table.check("process events a second, over %.1f s" % (in_ms / 1e3), "%.0f" % rate, "", "≥ %d" % EVENT_RATE, rate >= EVENT_RATE)
	table.check("… reach a subscriber", "%d, %d reported as lost" % (heard, lost), "%d happened" % happened, "all, or the loss is reported",
		    heard + lost >= happened)
	table.check("… reach the store", "%d, %d reported as lost" % (stored, not_there), "%d happened" % happened, "all, or the loss is reported",
		    stored + not_there >= happened)
	table.note("… cost the daemon", "%.0f %% of a core" % (spent_ms / in_ms * 100), "%.1f MB, %d ticks missed" %
		   (status["rss_mb"], losses["missed_ticks"]))


def against_numbers(build, table):
	with tempfile.TemporaryDirectory(prefix="proctor-bench-", dir=stage.DISK) as place:
		for part in (watching, clients, events):
			part(build, Path(place), table)
