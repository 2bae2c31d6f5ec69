# SPDX-License-Identifier: MIT
"""Users that try to starve the daemon: how long root's daemon.status takes meanwhile, which ticks are missed, and how large the daemon gets."""
import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path

import daemon as daemons
import measure
import stage

sys.path.insert(0, str(Path(__file__).parent.parent / "test/e2e"))
import attackers  # noqa: E402 pylint: disable=wrong-import-position
from attackers import NOBODY, Attack, call  # noqa: E402 pylint: disable=wrong-import-position

SECONDS = 4
JOBS, PROCESSES = 1000, 1000
STATUS_MS, RSS_MB = 50, 64
MANY_UIDS = range(30000, 30016)


def register_jobs(path, begun, count=JOBS):
	"""So many that the answer to job.list has some 6 MB."""
	line = daemons.Line(path)
	for i in range(count):
		line.call("job.start", job_id="job-%d" % i, command="x" * 3500, cwd="/" + "y" * 200, tags={"k%d" % n: "v" * 60 for n in range(12)})
	begun()


VALUES = b'{"jsonrpc":"2.0","id":1,"method":"daemon.health","params":{"a":[' + b"1," * 65000 + b"1]}}\n"
KEYS = b'{"jsonrpc":"2.0","id":1,"method":"daemon.health","params":{' + b",".join(b'"%d":1' % n for n in range(60000)) + b"}}\n"


def flood(lines, **options):
	return lambda path, uid: Attack(path, attackers.flood, uid=uid, lines=lines, **options)


ATTACKS = {
	"job.list, unread": lambda path, uid: Attack(path, attackers.ask_and_not_read, uid=uid, lines=call("job.list")),
	"job.list": flood(call("job.list")),
	"job.list, notified": flood(call("job.list", None)),
	"job.list of the store": flood(call("job.list", recorded=1000)),
	"job.list of the store, unread": lambda path, uid: Attack(path, attackers.ask_and_not_read, uid=uid, lines=call("job.list", recorded=1000)),
	"daemon.top": flood(call("daemon.top")),
	"daemon.top, notified": flood(call("daemon.top", None)),
	"daemon.top without nulls": flood(call("daemon.top", nulls="omit")),
	"daemon.status": flood(call("daemon.status")),
	"daemon.events": flood(call("daemon.events", limit=200)),
	"context.get": lambda path, uid: Attack(path, attackers.flood, uid=uid, lines=call("context.get", pid=os.getpid())),
	"process.history": flood(call("process.history", pid=1, limit=10000)),
	"job.report": flood(call("job.report", job_id="job-1")),
	"bus.subscribe": flood(call("bus.subscribe", since_seq=0, filter="none")),
	"bus.publish": flood(call("bus.publish", event="app.x", data={"t": "x" * 2000})),
	"daemon.top.stream": flood(call("daemon.top.stream", subscribe=True)),
	"daemon.top.stream, unread": lambda path, uid: Attack(path, attackers.ask_and_not_read, uid=uid, lines=call("daemon.top.stream", subscribe=True)),
	"job.mark": flood(call("job.mark", job_id="job-1", name="x", data={"t": "x" * 2000})),
	"sheet.started": flood(call("sheet.started", job_id="job-1", label="x" * 100)),
	"job.start and job.end": flood(call("job.start", job_id="again") + call("job.end", job_id="again")),
	"65,000 values": flood(VALUES),
	"60,000 keys": flood(KEYS),
	"half lines": lambda path, uid: Attack(path, attackers.begin_lines, uid=uid),
	"connections": lambda path, uid: Attack(path, attackers.connect_and_go, uid=uid),
}


def ask(path, seconds):
	"""Milliseconds of root's calls, half of them on a connection of their own; and the last answer."""
	took, line, peak, end = [], daemons.Line(path), 0, time.monotonic() + seconds
	while time.monotonic() < end or len(took) < 20:
		begun = time.monotonic()
		if len(took) % 2:
			line = daemons.Line(path)
		answer = line.call("daemon.status")
		took.append((time.monotonic() - begun) * 1e3)
		peak = max(peak, daemons.resident_kib(answer["pid"]) / 1024)
		time.sleep(0.005)
	return sorted(took), peak, answer


def under(name, attack, path, uids, table):
	missed = daemons.Line(path).call("daemon.status")["losses"]["missed_ticks"]
	with contextlib.ExitStack() as all_of_them:
		for uid in uids:
			all_of_them.enter_context(attack(path, uid))
		took, peak, answer = ask(path, SECONDS)
	missed = answer["losses"]["missed_ticks"] - missed
	p99 = took[int(len(took) * 0.99) - 1]
	table.limit("%s, %d users: root's daemon.status, p99" % (name, len(uids)), p99, "ms", STATUS_MS,
		    "longest %.1f ms, %d calls" % (took[-1], len(took)))
	table.limit("… largest resident size", peak, "MB", RSS_MB)
	table.limit("… missed ticks", missed, "", 0)


BY_MANY = ("job.list", "job.list, unread", "daemon.top", "half lines", "connections")


def against_numbers(build, table, only=""):
	with contextlib.ExitStack() as stack:
		place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="proctor-bench-", dir=stage.DISK)))
		place.chmod(0o755)
		stack.enter_context(measure.Crowd(build, PROCESSES))
		_, path = stack.enter_context(daemons.running(build, place / "starve", 1))
		path.parent.chmod(0o755)
		stack.enter_context(Attack(path, register_jobs, lasts_s=1200))
		for name, attack in ATTACKS.items():
			if only not in name:
				continue
			measure.report_progress(name)
			under(name, attack, path, [NOBODY], table)
			if name in BY_MANY:
				under(name, attack, path, MANY_UIDS, table)
