# SPDX-License-Identifier: MIT
"""The daemon under load: killed again and again, a thousand clients, subscribers that do not read."""
import os
import random
import resource
import signal
import sqlite3
import time

import pytest

from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import wait_for

KILLS = int(os.environ.get("PROCTOR_KILLS", "15"))  # 200 to be thorough
CLIENTS = int(os.environ.get("PROCTOR_CLIENTS", "1000"))


def rss_kib(pid):
	with open("/proc/%d/statm" % pid, encoding="utf-8") as text:
		return int(text.read().split()[1]) * resource.getpagesize() // 1024


def work_until_killed(daemon, children, round_number):
	"""Jobs that were answered for: their ids."""
	acked = []
	worker = children.spawn(["sleep", "60"])
	end = time.monotonic() + random.uniform(0.005, 0.120)
	with daemon.line() as line:
		while True:
			job_id = "r%d-%d" % (round_number, len(acked))
			assert line.call("job.start", job_id=job_id, pid=worker.pid)["result"]["job_id"] == job_id
			acked.append(job_id)
			if time.monotonic() >= end:
				break
			line.call("job.end", job_id=job_id, exit_code=0)
	daemon.process.kill()
	daemon.process.wait()
	worker.kill()
	return acked


@pytest.mark.needs_root
def test_no_job_that_was_answered_for_is_lost_by_killing(cold, children):
	acked = []
	for i in range(KILLS):
		cold.start(wait=False)
		wait_for(lambda: cold.process.poll() is None and is_up(cold), step=0.002)
		acked += work_until_killed(cold, children, i)
	with sqlite3.connect("file:%s?mode=ro" % (cold.proctor.state_dir / "proctor.db"), uri=True) as db:
		assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
		stored = {row[0] for row in db.execute("SELECT job_id FROM jobs")}
	assert set(acked) <= stored, set(acked) - stored
	assert len(acked) >= KILLS


def is_up(daemon):
	try:
		return "result" in daemon.call("rpc.hello")
	except OSError:
		return False


@pytest.mark.needs_root
def test_a_thousand_clients_half_of_them_listening(daemon):
	"""Answers stay quick, the ticks stay on time, and a client costs little memory."""
	most = resource.getrlimit(resource.RLIMIT_NOFILE)
	resource.setrlimit(resource.RLIMIT_NOFILE, (min(most[1], 8192), most[1]))
	before_kib = rss_kib(daemon.process.pid)
	lines = []
	try:
		for i in range(CLIENTS):
			line = daemon.line()
			lines.append(line)
			if i % 2:
				line.call("bus.subscribe")
			else:
				line.call("daemon.status")
		assert daemon.result("daemon.status")["clients"] >= CLIENTS
		took = []
		for _ in range(200):
			began = time.monotonic()
			lines[0].call("daemon.top")
			took.append(time.monotonic() - began)
		took.sort()
		missed = daemon.result("daemon.status")["losses"]["missed_ticks"]
		grown_kib = rss_kib(daemon.process.pid) - before_kib
	finally:
		for line in lines:
			line.close()
		resource.setrlimit(resource.RLIMIT_NOFILE, most)
	print("p50 %.1f ms, p99 %.1f ms, %d KiB a client" % (took[100] * 1e3, took[197] * 1e3, grown_kib / CLIENTS))
	assert took[197] < 0.5  # 50 ms in a build without sanitizers, on a machine with nothing else to do
	assert grown_kib / CLIENTS < 64 * 4  # sanitizers take their part
	assert missed == 0
	assert "pid" in daemon.result("daemon.status")


def test_one_client_too_many_is_refused_with_the_reason(daemon):
	lines = []
	try:
		for _ in range(1024):
			lines.append(daemon.line())
		with daemon.line() as line:
			assert line.read()["error"]["data"]["code"] == "too_many_clients"
	finally:
		for line in lines:
			line.close()
	wait_for(lambda: "result" in daemon.call("daemon.status"))


def test_how_many_clients_there_may_be_is_configured(cold):
	cold.config.write_text("[limits]\nmax_clients = 3\n", encoding="utf-8")
	cold.start()
	lines = [cold.line() for _ in range(3)]
	with cold.line() as line:
		assert line.read()["error"]["data"]["code"] == "too_many_clients"
	for line in lines:
		line.close()


def test_a_subscriber_that_does_not_read_is_informed_of_what_it_lost(daemon):
	with daemon.line() as slow, daemon.line() as sender:
		slow.call("bus.subscribe", filter="app.")
		text = "x" * 8000
		for _ in range(1200):  # more than the ring and the socket hold
			sender.send('{"jsonrpc":"2.0","method":"bus.publish","params":{"event":"app.n","data":{"t":"%s"}}}\n' % text)
		last = sender.call("bus.publish", event="app.last", data={})["result"]["seq"]
		lost, seen = 0, 0
		while True:
			message = slow.read()
			if message["method"] == "bus.lagged":
				lost += message["params"]["lost"]
				continue
			seen += 1
			if message["params"]["event"] == "app.last":
				break
	assert lost > 0 and lost + seen >= 1201
	assert message["params"]["seq"] == last


@pytest.mark.parametrize("bytes_sent, word", [
	(b"{" * 40 + b"\n", "too_deep"), (b"nonsense\n", "parse_error"), (b'{"a":1}\n', "invalid_request"), (b"[]\n", "batch_refused"),
	(b"x" * ((1 << 20) + 70000), "frame_too_long"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_no_call_is_refused_and_others_are_served(daemon, bytes_sent, word):
	with daemon.line() as bad, daemon.line() as good:
		try:
			bad.send(bytes_sent)
		except BrokenPipeError:
			pass
		assert bad.read()["error"]["data"]["code"] == word
		assert "result" in good.call("daemon.status")


def test_a_storm_of_connections_does_no_harm(daemon):
	for _ in range(500):
		daemon.line().close()
	assert daemon.result("daemon.status")["clients"] <= 5
	assert daemon.stop(signal.SIGTERM) == 0
