# SPDX-License-Identifier: MIT
"""The door of a running job: which users are let in, what is answered, and what wrong bytes do not do."""
import os
import resource
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from door import HOST, Job, Line


@pytest.fixture
def job(state_dir):
	running = Job(state_dir)
	yield running
	running.end()


def error_of(answer):
	return answer["error"]["code"], answer["error"]["data"]["code"]


def at_end(line):
	try:
		return line.read() is None
	except ConnectionResetError:
		return True


def test_the_door_is_its_owners_and_goes_with_the_job(state_dir):
	job = Job(state_dir)
	assert stat.S_IMODE(job.socket.stat().st_mode) == 0o600
	assert stat.S_IMODE(job.socket.parent.stat().st_mode) == 0o700
	job.end()
	assert not job.socket.parent.exists()
	assert job.socket.parent.parent.is_dir()


def test_a_killed_jobs_door_is_taken_over_and_a_running_ones_is_not(state_dir):
	first = Job(state_dir)
	second = subprocess.run([str(HOST), str(first.socket.parent)], stderr=subprocess.PIPE, text=True, check=False)
	assert second.returncode == 1 and "in use by a running job" in second.stderr
	first.process.send_signal(signal.SIGKILL)
	first.process.wait()
	first.process.stdout.close()
	assert first.socket.exists()
	third = Job(state_dir)
	with third.line() as line:
		assert line.call("daemon.status")["result"]["pid"] == third.process.pid
	third.end()


def test_a_path_longer_than_an_address_is_no_obstacle(tmp_path, proctor):
	job = Job(tmp_path / ("s" * 100), job_id="j" * 120)
	with job.line() as line:
		assert line.call("daemon.status")["result"]["job_id"] == "j" * 120
	assert proctor("mark", "far", env=job.env()).returncode == 0
	assert job.heard() == "mark far {}"
	job.end()


def test_hello_names_versions_and_methods(job):
	with job.line() as line:
		hello = line.call("rpc.hello")["result"]
	assert hello["protocol"] == 1 and hello["version"]
	assert {"rpc.hello", "daemon.top", "sheet.started", "context.get"} <= set(hello["capabilities"])


def test_top_and_events_show_what_was_seen(job):
	with job.line() as line:
		top = line.call("daemon.top")["result"]
		events = line.call("daemon.events", limit=1)["result"]["events"]
		none = line.call("daemon.events", limit=0)["result"]["events"]
	assert [p["pid"] for p in top["processes"]] == [job.process.pid]
	assert top["processes"][0]["job_id"] == "train-1"
	assert (events[0]["event_type"], events[0]["pid"]) == ("spawn", job.process.pid)
	assert none == []


def test_before_the_first_tick_there_is_nothing_to_show(state_dir):
	job = Job(state_dir, snapshot=False)
	with job.line() as line:
		assert line.call("daemon.top")["result"] is None
		assert line.call("daemon.events")["result"] == {"events": []}
		assert line.call("context.get")["result"]["rss_mb"] is None
	job.end()


def test_a_sheet_moves_the_progress_of_the_job(job):
	with job.line() as line:
		assert line.call("sheet.started", total=3, label="prepare")["result"] == {"job_id": "train-1", "sheet_num": 1}
		assert job.heard() == "begin 1/3 'prepare' pid %d" % os.getpid()
		assert line.call("daemon.status")["result"]["active_sheets"] == 1
		line.call("sheet.completed", sheet_num=1)
		assert job.heard() == "end 1 completed code 0 signal 0"
		line.call("sheet.started", sheet_num=2)
		job.heard()
		line.call("sheet.failed", sheet_num=2, signal=9)
		assert job.heard() == "end 2 failed code -1 signal 9"
		listed = line.call("job.list")["result"]["jobs"][0]
	assert (listed["total_sheets"], listed["last_completed_sheet"], listed["current_sheet"]) == (3, 1, None)
	assert [s["status"] for s in listed["sheets"]] == ["completed", "failed"]
	assert [s["signal_num"] for s in listed["sheets"]] == [None, 9]
	assert listed["tags"] == {"gpu": "no"}


@pytest.mark.parametrize("method, params, word", [
	("daemon.events", {"limit": -1}, "invalid_params"),
	("daemon.events", {"limit": "many"}, "invalid_params"),
	("context.get", {"pid": 0}, "invalid_params"),
	("sheet.started", {"sheet_num": 0}, "invalid_params"),
	("sheet.started", {"sheet_num": 3, "total": 2}, "invalid_params"),
	("sheet.started", {"sheet_num": 1e6 + 1}, "invalid_params"),
	("sheet.started", {"label": 7}, "invalid_params"),
	("sheet.completed", {}, "invalid_params"),
	("sheet.completed", {"sheet_num": 7}, "not_found"),
	("sheet.failed", {"sheet_num": 1, "exit_code": 1, "signal": 9}, "invalid_params"),
	("sheet.failed", {"sheet_num": 1, "exit_code": 256}, "invalid_params"),
	("job.mark", {}, "invalid_params"),
	("job.mark", {"name": ""}, "invalid_params"),
	("job.mark", {"name": "x" * 129}, "invalid_params"),
	("job.mark", {"name": "x", "data": [1]}, "invalid_params"),
	("job.mark", {"name": "x", "data": {"a": "x" * 16384}}, "invalid_params"),
	("job.phase", {"name": "x"}, "invalid_params"),
	("job.phase", {"name": "x", "seconds": -1}, "invalid_params"),
	("job.start", {}, "conflict"),
	("job.begin", {}, "method_not_found"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_wrong_parameters_are_named(job, method, params, word):
	with job.line() as line:
		assert error_of(line.call(method, **params))[1] == word
		assert "result" in line.call("daemon.status")
	assert job.end() == []


def test_a_sheet_ends_once(job):
	with job.line() as line:
		line.call("sheet.started")
		line.call("sheet.completed", sheet_num=1)
		assert error_of(line.call("sheet.completed", sheet_num=1)) == (-32006, "conflict")


def test_a_label_is_cut_between_two_characters_and_shows_it(job):
	with job.line() as line:
		line.call("sheet.started", label="é" * 40)
	assert job.heard() == "begin 1/0 '%s' pid %d" % ("é" * 30 + "…", os.getpid())


DEEP = "[" * 40 + "]" * 40


@pytest.mark.parametrize("sent, code, word, goes_on", [
	("hello\n", -32700, "parse_error", True),
	("\xff\xfe\x00\n", -32700, "parse_error", True),
	('{"jsonrpc":"2.0","id":1,"id":2,"method":"daemon.status"}\n', -32700, "duplicate_key", True),
	('{"jsonrpc":"2.0","id":1}\n', -32600, "invalid_request", True),
	('[%s]\n' % ",".join(['{"jsonrpc":"2.0","id":1,"method":"daemon.status"}'] * 2000), -32600, "batch_refused", True),
	('{"jsonrpc":"2.0","id":1,"method":"daemon.status","params":%s}\n' % DEEP, -32600, "too_deep", True),
	("[" + "1," * 70000 + "1]\n", -32600, "too_many_values", True),
	("x" * (2 << 20) + "\n", -32600, "frame_too_long", False),
], ids=["words", "bytes", "twice", "no-method", "batch", "deep", "many", "long"])
def test_wrong_bytes_get_their_error_and_others_are_served(job, sent, code, word, goes_on):
	with job.line() as bad, job.line() as good:
		try:
			bad.send(sent.encode("latin-1"))
		except (BrokenPipeError, ConnectionResetError):
			assert not goes_on
		assert error_of(bad.read()) == (code, word)
		assert "result" in good.call("daemon.status")
		if goes_on:
			assert "result" in bad.call("daemon.status")
		else:
			assert at_end(bad)


def test_calls_may_come_in_single_bytes_and_many_at_once(job):
	call = b'{"jsonrpc":"2.0","id":"a","method":"daemon.status"}\n'
	with job.line() as line:
		for byte in call:
			line.send(bytes([byte]))
		assert line.read()["id"] == "a"
		line.send(call * 100)
		assert [line.read()["id"] for _ in range(100)] == ["a"] * 100


def test_a_client_that_sends_half_a_line_is_cut_after_five_seconds(job):
	with job.line() as slow, job.line() as good:
		slow.send('{"jsonrpc":')
		began = time.monotonic()
		for _ in range(8):
			time.sleep(0.5)
			try:
				slow.send(" ")
			except (BrokenPipeError, ConnectionResetError):
				break
		assert error_of(slow.read()) == (-32600, "frame_timeout")
		assert 4.5 < time.monotonic() - began < 30
		assert at_end(slow)
		assert "result" in good.call("daemon.status")


def test_a_storm_of_clients_is_held_off_and_forgotten(job):
	lines = [job.line() for _ in range(300)]
	answers = [line.call("daemon.status") if i < 250 else None for i, line in enumerate(lines)]
	assert all("result" in a for a in answers[:250])
	refused = [line.read() for line in lines[260:]]
	assert {error_of(a) for a in refused} == {(-32004, "too_many_clients")}
	for line in lines:
		line.close()
	with job.line() as line:
		assert "result" in line.call("daemon.status")


def test_without_descriptors_the_door_waits_and_does_not_spin(state_dir):
	job = Job(state_dir, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48)))
	lines = [job.line() for _ in range(60)]
	time.sleep(1.5)
	ticks = sum(map(int, Path("/proc/%d/stat" % job.process.pid).read_text().rsplit(")", 1)[1].split()[11:13]))
	assert ticks < 30
	for line in lines[:55]:
		line.close()
	assert "result" in lines[59].call("daemon.status")
	for line in lines[55:]:
		line.close()
	job.end()


@pytest.mark.needs_root
def test_another_user_is_not_let_in(as_nobody):
	"""Even where the directories would let them."""
	place = as_nobody.place / "open"
	job = Job(place)
	try:
		os.chmod(as_nobody.place, 0o755)
		for path in (job.socket.parent.parent, job.socket.parent):
			path.chmod(0o755)
		job.socket.chmod(0o666)
		answer = as_nobody("mark", "intruder", env=job.env())
		assert answer.returncode == 4
		assert "served by" in answer.stderr or "may not use this socket" in answer.stderr
	finally:
		assert job.end() == []


@pytest.mark.needs_root
def test_root_is_let_in_and_a_socket_of_somebody_else_is_not_believed(as_nobody, proctor):
	host = shutil.copy2(HOST, as_nobody.place / "host")
	job = Job.__new__(Job)
	job.state_dir, job.job_id = as_nobody.state_dir, "theirs"
	job.socket = as_nobody.state_dir / "jobs/theirs/sock"
	job.process = subprocess.Popen([host, str(job.socket.parent)], stdout=subprocess.PIPE, text=True,
				       user=65534, group=65534, extra_groups=[])
	assert job.heard() == "ready"
	with Line(job.socket) as line:
		assert "result" in line.call("daemon.status")
	done = proctor("mark", "x", env=job.env())
	assert done.returncode == 4 and "user 65534, who is not trusted" in done.stderr
	assert job.end() == []
	host.unlink()
