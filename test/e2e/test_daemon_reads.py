# SPDX-License-Identifier: MIT
"""Reads of a large store do not hold up the daemon: whoever else asks is answered meanwhile, and so is SIGTERM."""
import select
import sqlite3
import time

import pytest

from daemonkit import Daemon, cold  # noqa: F401 pylint: disable=unused-import

# So many lives of one pid in so many snapshots: to go through them takes longer than the reader's time on any machine.
LIVES, SNAPSHOTS, PID = 5000, 50000, 4000000
SLOW = '{"jsonrpc":"2.0","id":"slow","method":"process.history","params":{"pid":%d}}\n' % PID
PATIENCE_S = 4.0  # the reader's is 5
COUNT = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1) "


def make_slow(path):
	now = time.time()
	with sqlite3.connect(path) as db:
		last, = db.execute("SELECT max(id) FROM snapshot").fetchone()
		db.execute("INSERT INTO snapshot(id, kf, at, time, recorder, boot_us, seq) " + COUNT +
			   "SELECT ?2 + i, 0, 0, ?3 + i / 1e6, 1, 1, 1 FROM n", (SNAPSHOTS, last, now))
		db.execute("INSERT INTO process(recorder, pid, start_ticks, first, last, started, ended) " + COUNT +
			   "SELECT 1, ?4, i, ?2, ?2 + 1000000, ?3, ?3 FROM n", (LIVES, last, now, PID))
		db.execute("INSERT INTO job(job_id, type, recorder, status, started, ended) VALUES ('quick', 't', 1, 1, ?1, ?1)", (now,))
	db.close()


@pytest.fixture
def slow(cold):
	cold.start()
	assert cold.stop() == 0, cold.log_text()
	make_slow(cold.proctor.state_dir / "proctor.db")
	return cold.start()


def ask_slowly(daemon):
	line = daemon.line()
	line.send(SLOW)
	return line


def has_answer(line):
	return bool(select.select([line.socket], [], [], 0)[0])


def others_in_time(waiting, other):
	"""Whether others were answered, and a tick was taken, before the reader's time was up."""
	began = time.monotonic()
	first = other.call("daemon.top")["result"]["seq"]
	for _ in range(20):
		other.call("daemon.top")
	while other.call("daemon.top")["result"]["seq"] == first:
		time.sleep(0.05)
	is_waiting = not has_answer(waiting)
	return is_waiting or time.monotonic() - began < PATIENCE_S, is_waiting


def test_others_are_answered_while_one_waits_for_the_store(slow):
	for _ in range(5):  # a machine that is too busy for all that in the reader's time shows nothing
		with ask_slowly(slow) as waiting, slow.line() as other:
			waiting.send('{"jsonrpc":"2.0","id":"behind","method":"daemon.status"}\n')
			was_in_time, is_waiting = others_in_time(waiting, other)
			answer = waiting.read()
			assert answer["id"] == "slow" and answer["error"]["data"]["code"] == "unavailable", answer
			assert waiting.read()["id"] == "behind"
		if was_in_time:
			break
	assert is_waiting


def test_a_read_does_not_keep_the_daemon_from_ending(slow):
	with ask_slowly(slow) as first, ask_slowly(slow) as second:
		slow.result("daemon.top")
		assert slow.stop() == 0, slow.log_text()
		assert first.read() is None and second.read() is None


def test_an_abandoned_request_is_not_read(slow):
	"""Each of them would take 5 s."""
	began = time.monotonic()
	lines = [ask_slowly(slow) for _ in range(10)]
	slow.result("daemon.top")
	for line in lines:
		line.close()
	assert slow.result("job.profile", job_id="quick")["job_id"] == "quick"
	assert time.monotonic() - began < 25
