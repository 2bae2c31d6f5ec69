# SPDX-License-Identifier: MIT
"""Long work shows on a terminal how far it is, and leaves nothing there; a file or a pipe gets nothing of it."""
import os
import pty
import re
import sqlite3
import subprocess

import pytest

from conftest import ROOT

CLEAR = "\r\x1b[K"


def run_with_terminal(proctor, *args, env=None):
	"""Status, stdout, and what came to a terminal that is its stderr."""
	leader, follower = pty.openpty()
	child = subprocess.Popen([proctor.binary, *map(str, args)], env={**proctor.env, "TERM": "xterm", "ASAN_OPTIONS": "detect_leaks=0", **(env or {})},
				 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=follower)
	os.close(follower)
	shown = b""
	try:
		while chunk := os.read(leader, 65536):
			shown += chunk
	except OSError:  # nobody writes any more
		pass
	os.close(leader)
	stdout = child.stdout.read().decode()
	child.stdout.close()
	return child.wait(timeout=60), stdout, shown.decode()


@pytest.fixture
def history(tmp_path):
	"""Runs enough for a second of work; not in the order of time."""
	path = tmp_path / "history.csv"
	path.write_text("job_type,started_at,duration_seconds,peak_used_mb\n" +
			"".join("t%d,%d,%d,%d\n" % (i % 7, 1700000000 + 60 * (i ^ 1), 10 + i % 50, 100 + i % 400) for i in range(20000)), encoding="ascii")
	return path


def check(shown, pattern):
	drawn = [line for line in shown.split(CLEAR) if line.strip()]
	assert drawn and all(re.fullmatch(pattern, line) for line in drawn), shown
	assert shown.endswith(CLEAR)


@pytest.mark.parametrize("verb, pattern", [("import", r"\[.{10}\] +\d+ %  [\d,]+ rows"), ("backtest", r"\[.{10}\] +\d+ %  [\d,]+ rows (checked|read|replayed)")])
def test_files_of_runs(proctor, history, verb, pattern):
	status, stdout, shown = run_with_terminal(proctor, verb, history)
	assert status == 0 and stdout
	check(shown, pattern)
	for done in (run_with_terminal(proctor, verb, "--json", history), run_with_terminal(proctor, verb, history, env={"TERM": "dumb"})):
		assert (done[0], done[2]) == (0, "")
	done = proctor(verb, history)
	assert (done.returncode, done.stderr) == (0, "")


def test_exports(proctor, tmp_path):
	assert proctor("run", "-q", "--job-id", "first", "true").returncode == 0
	with sqlite3.connect(proctor.state_dir / "proctor.db") as db:
		db.executemany("INSERT INTO job (job_id, type, status, started, ended, uid) SELECT ?, 'many', status, started, ended, uid FROM job WHERE job_id = 'first'",
			       [("many-%d" % i,) for i in range(200)])
	status, stdout, shown = run_with_terminal(proctor, "export", "--type", "many", "--format", "chrome-trace", "-o", tmp_path / "out")
	assert (status, stdout) == (0, "") and (tmp_path / "out").stat().st_size
	check(shown, r"\[.{10}\] +\d+ %  [\d,]+ jobs?")
	done = proctor("export", "--type", "many", "--format", "chrome-trace", "-o", tmp_path / "out")
	assert (done.returncode, done.stderr) == (0, "")


def test_the_update_of_an_older_store(proctor, tmp_path):
	proctor.state_dir.mkdir()
	with sqlite3.connect(proctor.state_dir / "proctor.db") as db:
		db.executescript((ROOT / "test/fixtures/store/v4.sql").read_text(encoding="utf-8"))
		db.executemany("INSERT INTO job (job_id, type, status, started, ended) VALUES (?, 'old', 2, 1700000000, 1700000001)",
			       [("old-%d" % i,) for i in range(200000)])
	few = tmp_path / "few.csv"
	few.write_text("job_type,started_at,duration_seconds,peak_used_mb\nt,1700000000,10,100\n", encoding="ascii")
	status, stdout, shown = run_with_terminal(proctor, "import", few)
	assert status == 0 and "1 run imported" in stdout
	check(shown, r"updating the store, \d+s")
