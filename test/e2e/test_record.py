# SPDX-License-Identifier: MIT
"""`proctor record`: the engine in the foreground, into a real store, on the real kernel."""
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from conftest import wait_for
from runkit import state_of

SECOND_STOP_LIMIT = 20.0  # 5 on a machine that has nothing else to do


@pytest.fixture
def recording(proctor, children):
	"""Starts `proctor record …` and gives it back once its first snapshot is stored."""

	def start(*options, wait=True, **popen):
		child = children.spawn([proctor.binary, "record", *options], env=proctor.env, stderr=subprocess.PIPE, text=True, **popen)
		if wait:
			wait_for_snapshots(proctor, 1, child)
		return child

	return start


def query(proctor, text, *args):
	with sqlite3.connect("file:%s?mode=ro" % (proctor.state_dir / "proctor.db"), uri=True) as db:
		return db.execute(text, args).fetchall()


def has_snapshots(proctor, count):
	try:
		return query(proctor, "SELECT count(*) FROM snapshots")[0][0] >= count
	except sqlite3.OperationalError:
		return False


def wait_for_snapshots(proctor, count, child):
	wait_for(lambda: has_snapshots(proctor, count) or child.poll() is not None)
	assert child.poll() is None, child.stderr.read()


def stop(child, signo=signal.SIGTERM):
	began = time.monotonic()
	child.send_signal(signo)
	_, err = child.communicate(timeout=30)
	assert time.monotonic() - began < SECOND_STOP_LIMIT
	return err


def test_record_for_a_while_stores_snapshots_that_the_reference_reads(proctor, children):
	sleeper = children.spawn(["sleep", "60"])
	wait_for(lambda: state_of(sleeper.pid) == "S")
	done = proctor("record", "--interval", "0.5", "--for", "3s")
	assert done.returncode == 0, done.stderr
	assert done.stdout == ""
	ids = [row[0] for row in query(proctor, "SELECT id FROM snapshots ORDER BY timestamp")]
	assert 2 <= len(ids) <= 8
	for snapshot_id in ids:  # the sleeper never changes, and is in every one
		rows = query(proctor, "SELECT command, rss_mb, threads, state FROM process_metrics WHERE snapshot_id = ? AND pid = ?",
			     snapshot_id, sleeper.pid)
		assert len(rows) == 1
		assert rows[0][0] == "sleep 60" and rows[0][2] == 1 and rows[0][3] == "S"
		assert 0.1 < rows[0][1] < 20
	pids = {row[0] for row in query(proctor, "SELECT pid FROM process_metrics WHERE snapshot_id = ?", ids[-1])}
	assert 1 in pids and os.getpid() in pids


def test_record_keeps_the_grid_and_does_not_drift(proctor):
	assert proctor("record", "--interval", "0.25", "--for", "4s").returncode == 0
	times = [row[0] for row in query(proctor, "SELECT timestamp FROM snapshots ORDER BY id")]
	assert len(times) >= 4
	together = max(sum((t - first) % 0.25 < 0.1 for t in times) for first in times)
	assert together * 2 >= len(times), times  # a late tick does not shift those after it


def test_record_writes_one_json_line_per_snapshot(proctor, recording):
	child = recording("--interval", "0.2")
	wait_for_snapshots(proctor, 4, child)
	stop(child)
	lines = (proctor.state_dir / "monitor.jsonl").read_bytes().split(b"\n")
	assert lines.pop() == b""
	snapshots = [json.loads(line) for line in lines]
	assert len(snapshots) == query(proctor, "SELECT count(*) FROM snapshots")[0][0]
	assert [s["seq"] for s in snapshots] == list(range(1, len(snapshots) + 1))
	assert snapshots[0]["daemon_pid"] > 0 and snapshots[-1]["recorder_cpu_percent"] is not None


def lines_of(proctor):
	"""The last one may be half written."""
	text = (proctor.state_dir / "monitor.jsonl").read_text(encoding="utf-8")
	return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def test_a_jsonl_line_holds_the_largest_processes_and_counts_all(proctor, recording, children, tmp_path):
	children.idle(40)
	child = recording("--interval", "0.2")
	wait_for_snapshots(proctor, 3, child)
	stop(child)
	last = lines_of(proctor)[-1]
	(stored,) = query(proctor, "SELECT child_count FROM snapshots ORDER BY id DESC LIMIT 1")[0]
	assert last["processes_total"] == stored
	assert len(last["processes"]) == last["processes_total"] - last["processes_omitted"] <= 20
	assert last["processes_omitted"] >= 40 - 20
	config = tmp_path / "proctor.conf"
	config.write_text("[profiler]\njsonl_processes = all\n", encoding="utf-8")
	before = len(lines_of(proctor))
	child = recording("--interval", "0.2", "--config", config)
	assert wait_for(lambda: len(lines_of(proctor)) > before + 1)
	stop(child)
	last = lines_of(proctor)[-1]
	assert last["processes_omitted"] == 0 and len(last["processes"]) == last["processes_total"]


@pytest.mark.needs_root
def test_record_sees_every_process_that_lives_two_milliseconds(proctor, recording):
	child = recording("--interval", "1")
	for code in [0, 3] * 50:
		subprocess.run(["/bin/sh", "-c", "exit %d" % code], check=False)
	stop(child)
	exits = query(proctor, "SELECT e.exit_code, count(*) FROM process_events e WHERE event_type = 'exit' AND pid IN "
			       "(SELECT pid FROM process WHERE command LIKE '%sh -c exit%') GROUP BY 1")
	counts = dict(exits)
	assert counts.get(0, 0) >= 50 and counts.get(3, 0) >= 50, exits


@pytest.mark.needs_root
def test_record_stores_what_happened_after_its_last_snapshot(proctor, recording):
	child = recording("--interval", "30")
	mine = "of-%d" % os.getpid()  # other tests run shells at the same time
	for _ in range(20):
		subprocess.run(["/bin/sh", "-c", "exit 9", mine], check=False)
	stop(child)
	assert query(proctor, "SELECT count(*) FROM process WHERE command = ? AND exit_code = 9", "/bin/sh -c exit 9 " + mine) == [(20,)]


@pytest.mark.needs_root
def test_record_counts_every_process_of_a_storm_and_keeps_its_interval(proctor, recording, children):
	child = recording("--interval", "2")
	storm = children.python("""
import os
for _ in range(6000):
	pid = os.fork()
	if pid == 0:
		os._exit(7)
	os.waitpid(pid, 0)
""")
	storm.wait()
	wait_for(lambda: query(proctor, "SELECT count(*) FROM snapshots")[0][0] >= 3)
	stop(child)
	rows = query(proctor, "SELECT count(*) FROM process WHERE ppid = ? AND exit_code = 7", storm.pid)
	assert rows == [(6000,)]
	times = [row[0] for row in query(proctor, "SELECT timestamp FROM snapshots ORDER BY id")]
	assert all(b - a > 1.0 for a, b in zip(times, times[1:])), times  # events come ahead, snapshots do not


@pytest.mark.needs_root
def test_record_names_the_sender_of_a_signal(proctor, recording, children):
	victim = children.spawn(["sleep", "60"])
	child = recording("--interval", "1")
	killer = subprocess.Popen(["/bin/sh", "-c", "kill -TERM %d" % victim.pid])
	killer.wait()
	victim.wait()
	stop(child)
	rows = query(proctor, "SELECT signal_num, details FROM process_events WHERE event_type = 'signal' AND pid = ?", victim.pid)
	assert rows and rows[0][0] == signal.SIGTERM and "pid %d" % killer.pid in rows[0][1]
	ends = query(proctor, "SELECT exit_code, signal_num FROM process_events WHERE event_type = 'exit' AND pid = ?", victim.pid)
	assert ends == [(None, signal.SIGTERM)]


@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGINT])
def test_record_ends_cleanly_on_a_signal(proctor, recording, signo):
	child = recording("--interval", "0.5")
	stop(child, signo)
	assert child.returncode == 0
	assert query(proctor, "PRAGMA integrity_check") == [("ok",)]


def test_record_without_bpf_still_records(proctor):
	done = proctor("record", "--no-bpf", "--interval", "0.5", "--for", "2s")
	assert done.returncode == 0, done.stderr
	rows = query(proctor, "SELECT count(*), sum(rss_mb) FROM process_metrics WHERE snapshot_id = (SELECT max(id) FROM snapshots)")
	assert rows[0][0] > 5 and rows[0][1] > 1


def test_record_does_not_catch_up_after_it_was_stopped(proctor, recording):
	child = recording("--interval", "0.5")
	child.send_signal(signal.SIGSTOP)
	time.sleep(4)
	before = query(proctor, "SELECT count(*) FROM snapshots")[0][0]
	child.send_signal(signal.SIGCONT)
	wait_for_snapshots(proctor, before + 4, child)
	stop(child)
	after = [row[0] for row in query(proctor, "SELECT timestamp FROM snapshots ORDER BY id")][before:]
	assert sum(at < after[0] + 1.2 for at in after) <= 5  # not the eight that were missed
	gaps = query(proctor, "SELECT details, count FROM event WHERE details LIKE '%ticks were missed%'")
	assert gaps and gaps[0][1] > 3e9, "the time that was missed is not reported"


def test_record_is_not_run_with_a_command(proctor):
	done = proctor("record", "--", "true")
	assert done.returncode == 2
	assert "proctor run" in done.stderr


@pytest.mark.parametrize("option", ["--interval", "--for"])
def test_record_refuses_a_time_of_nothing(proctor, option):
	done = proctor("record", option, "0")
	assert done.returncode == 2 and option in done.stderr


def test_record_ends_cleanly_when_its_terminal_goes_away(proctor, recording):
	child = recording("--interval", "0.5")
	stop(child, signal.SIGHUP)
	assert child.returncode == 0


def test_a_second_recorder_on_the_same_store_learns_which_the_first_is(proctor, recording):
	child = recording("--interval", "0.5")
	done = proctor("record", "--for", "1s")
	assert done.returncode == 1
	assert "pid %d" % child.pid in done.stderr
	stop(child)


def test_record_without_file_descriptors_reports_it_and_stores_no_zeros(proctor):
	done = proctor("record", "--no-bpf", "--interval", "0.3", "--for", "1s",
		       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16)))
	if done.returncode == 0:
		assert "no file descriptor" in done.stderr
		assert query(proctor, "SELECT count(*) FROM snapshots WHERE child_count = 0") == [(0,)]
	else:
		assert "Too many open files" in done.stderr


def test_record_makes_a_new_state_directory_when_the_old_one_is_taken_away(proctor, recording):
	child = recording("--interval", "0.3")
	shutil.rmtree(proctor.state_dir)
	wait_for_snapshots(proctor, 2, child)
	stop(child)
	assert child.returncode == 0


def test_record_sets_a_corrupt_database_aside_and_goes_on(proctor):
	proctor.state_dir.mkdir()
	(proctor.state_dir / "proctor.db").write_bytes(b"this is no database" * 1000)
	done = proctor("record", "--interval", "0.5", "--for", "1s")
	assert done.returncode == 0, done.stderr
	assert "set aside" in done.stderr
	kept = list(proctor.state_dir.glob("proctor.db.corrupt-*"))
	assert len(kept) == 1 and kept[0].read_bytes().startswith(b"this is no database")
	assert has_snapshots(proctor, 1)


def set_pragma(path, pragma):
	with sqlite3.connect(path) as db:
		db.execute("CREATE TABLE mine(x)")
		db.execute("PRAGMA " + pragma)
	db.close()
	return path.read_bytes()


def test_record_refuses_a_database_of_another_program(proctor):
	proctor.state_dir.mkdir()
	path = proctor.state_dir / "proctor.db"
	before = set_pragma(path, "application_id = 1234")
	done = proctor("record", "--interval", "0.5", "--for", "1s")
	assert done.returncode == 1
	assert "proctor.db" in done.stderr
	assert path.read_bytes() == before


def test_record_goes_on_beside_a_newer_database_and_imports_later(proctor):
	assert proctor("record", "--interval", "0.5", "--for", "1s").returncode == 0
	path = proctor.state_dir / "proctor.db"
	version, = query(proctor, "PRAGMA user_version")[0]
	before = set_pragma(path, "user_version = 999")
	done = proctor("record", "--interval", "0.5", "--for", "1s")
	assert done.returncode == 0
	assert "newer proctor" in done.stderr and "side-v%d" % version in done.stderr
	assert path.read_bytes() == before
	assert (proctor.state_dir / ("side-v%d" % version) / "proctor.db").exists()
	with sqlite3.connect(path) as db:
		db.execute("PRAGMA user_version = %d" % version)
	db.close()
	assert proctor("record", "--interval", "0.5", "--for", "1s").returncode == 0
	assert query(proctor, "SELECT count(DISTINCT recorder) FROM snapshot") == [(3,)]
	assert not list(proctor.state_dir.glob("side-*"))


def test_record_goes_on_when_the_database_is_removed_under_it(proctor, recording):
	child = recording("--interval", "0.3")
	for path in proctor.state_dir.glob("proctor.db*"):
		path.unlink()
	wait_for_snapshots(proctor, 2, child)
	stop(child)
	assert child.returncode == 0


@pytest.mark.needs_root
def test_record_as_nobody_in_a_directory_of_root_reports_what_is_wrong(as_nobody, tmp_path):
	locked = tmp_path / "locked"
	locked.mkdir(mode=0o755)
	os.chmod(tmp_path, 0o755)
	done = as_nobody("record", "--state-dir", str(locked / "state"), "--for", "1s")
	assert done.returncode == 1
	assert str(locked) in done.stderr and "Permission denied" in done.stderr


FULL_DISK = r"""
import os, subprocess, sys, time
place, binary = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", place], check=True)
env = {**os.environ, "PROCTOR_STATE_DIR": place + "/state"}
with subprocess.Popen([binary, "record", "--interval", "0.2"], env=env, stderr=subprocess.PIPE, text=True) as child:
	log = ""
	try:
		while not os.path.exists(place + "/state/monitor.jsonl") or not os.path.getsize(place + "/state/monitor.jsonl"):
			time.sleep(0.05)
		ballast = os.open(place + "/ballast", os.O_WRONLY | os.O_CREAT)
		try:
			while os.write(ballast, b"x" * 4096):
				pass
		except OSError:
			pass
		while "not storing" not in log:
			log += child.stderr.readline() or sys.exit("it ended: " + log)
		time.sleep(3)
		os.close(ballast)
		os.unlink(place + "/ballast")
		while "storing again" not in log:
			log += child.stderr.readline() or sys.exit("it ended: " + log)
	finally:
		child.terminate()
	print(log + child.communicate(timeout=20)[1])
subprocess.run(["cp", "-r", place + "/state", place + "-kept"], check=True)
sys.exit(child.returncode)
"""


@pytest.mark.needs_root
def test_record_survives_a_full_disk_and_stores_the_gap(proctor, tmp_path):
	place = tmp_path / "small"
	place.mkdir()
	done = subprocess.run(["unshare", "-m", sys.executable, "-c", FULL_DISK, str(place), proctor.binary],
			      capture_output=True, text=True, timeout=60, check=False)
	assert done.returncode == 0, done.stdout + done.stderr
	assert done.stdout.count("not storing") == 1, done.stdout  # reported once
	assert done.stdout.count("storing again") == 1, done.stdout
	proctor.state_dir = tmp_path / "small-kept"
	assert query(proctor, "PRAGMA integrity_check") == [("ok",)]
	gaps = query(proctor, "SELECT count, details FROM event WHERE details LIKE '%full%' AND count > 2e9")
	assert len(gaps) == 1, query(proctor, "SELECT * FROM event WHERE proc IS NULL")
	for line in (proctor.state_dir / "monitor.jsonl").read_bytes().splitlines():
		json.loads(line)
