# SPDX-License-Identifier: MIT
"""`proctor daemon` as a service: starting, stopping, reloading, its socket and its supervisor."""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from conftest import clean_environment
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import SANITIZERS, wait_for


def test_status_shows_the_daemons_health(daemon):
	done = daemon.proctor("status")
	assert done.returncode == 0, done.stderr
	for word in ("running for", "pid %d" % daemon.process.pid, "processes every 1 s", "losses     none", "0 running", str(daemon.socket)):
		assert word in done.stdout, done.stdout
	answer = json.loads(daemon.proctor("status", "--json").stdout)
	status = answer["status"]
	assert answer["running"] and status["kind"] == "daemon" and status["pid"] == daemon.process.pid
	assert status["store"]["is_storing"] and status["store"]["bytes"] > 0
	assert status["store"]["path"] == str(daemon.proctor.state_dir / "proctor.db")
	assert status["tier"] and status["rss_mb"] > 1 and status["losses"] == {"snapshots": 0, "events": 0, "unread_events": 0, "missed_ticks": 0,
		"hanging_processes": 0, "refused_reads": 0, "over_quota": {"samples": 0, "events": 0, "processes": 0}}


def test_status_and_doctor_estimate_the_growth_of_a_store_of_some_hours(daemon):
	keys = ("growth_bytes_per_day_estimate", "retention_frees_bytes_per_day_estimate")
	status = json.loads(daemon.proctor("status", "--json").stdout)
	assert [status[key] for key in keys] == [None, None]
	with contextlib.closing(sqlite3.connect(daemon.proctor.state_dir / "proctor.db", timeout=20)) as db, db:
		db.execute("UPDATE keyframe SET begins = begins - 5 * 3600 WHERE id = (SELECT min(id) FROM keyframe)")
	status = json.loads(daemon.proctor("status", "--json").stdout)
	store = json.loads(daemon.proctor("doctor", "--json").stdout)["store"]
	assert status[keys[0]] > 0 and status[keys[1]] >= 0
	assert store[keys[0]] == pytest.approx(status[keys[0]], rel=0.5)
	for verb in ("status", "doctor"):
		assert re.search(r"grows by about [\d.]+ [KM]iB a day; retention frees about ", daemon.proctor(verb).stdout), verb


def test_status_without_a_daemon_reports_it_and_what_to_do(cold):
	done = cold.proctor("status")
	assert done.returncode == 4 and done.stdout == ""
	assert "no daemon answers at %s" % cold.socket in done.stderr and "proctor daemon" in done.stderr
	done = cold.proctor("status", "--json")
	answer = json.loads(done.stdout)
	assert done.returncode == 4 and (answer["running"], answer["pid"], answer["status"]) == (False, None, None)
	assert answer["problem"] == "no daemon answers at %s" % cold.socket


def test_one_that_hangs_is_named(daemon):
	daemon.process.send_signal(signal.SIGSTOP)
	try:
		done = daemon.proctor("status", "--json")
	finally:
		daemon.process.send_signal(signal.SIGCONT)
	answer = json.loads(done.stdout)
	assert done.returncode == 4 and (answer["running"], answer["pid"], answer["status"]) == (True, daemon.process.pid, None)
	assert answer["problem"] == "the daemon at %s, process %d, does not answer within 5 s" % (daemon.socket, daemon.process.pid)
	assert answer["problem"] in done.stderr and "kill -CONT" in done.stderr


def test_one_that_is_full_names_the_owners_of_its_connections(cold):
	cold.config.write_text("[profiler]\ninterval_seconds = 1\n[limits]\nmax_clients = 3\n", encoding="utf-8")
	cold.start()
	with cold.line(), cold.line(), cold.line():
		done = wait_for(lambda: (done := cold.proctor("status", "--json")).returncode == 4 and done)
	answer = json.loads(done.stdout)
	assert answer["running"] and answer["problem"] == "too many connections: all 3 are in use, 3 of them by user %d" % os.geteuid()
	assert answer["problem"] in done.stderr and "max_clients" in done.stderr


ZOMBIE = "import os, time\nif os.fork() == 0:\n\tos._exit(0)\ntime.sleep(60)"


@pytest.mark.needs_root
def test_status_lists_lasting_anomalies_to_the_users_they_concern(daemon, children):
	parent = children.python(ZOMBIE, user=65534, group=65534, extra_groups=[])
	daemon.result("job.start", uid=65534, job_id="leaves", pid=parent.pid)

	def zombies(uid=None):
		return [a for a in daemon.result("daemon.status", uid=uid)["anomalies_active"] if a["anomaly_type"] == "zombie"]

	answer = wait_for(zombies)
	assert (answer[0]["job_id"], answer[0]["severity"], answer[0]["ended"]) == ("leaves", "high", None)
	assert answer == zombies(65534) and zombies(65533) == []
	assert "zombie %d (job leaves)" % answer[0]["pid"] in daemon.proctor("status").stdout
	shown = json.loads(daemon.proctor("status", "--json").stdout)["status"]["anomalies_active"]
	assert answer[0]["pid"] in [a["pid"] for a in shown]
	parent.kill()
	parent.wait()
	wait_for(lambda: not zombies())


def test_status_shows_that_it_has_stepped_back(cold, children):
	"""Without BPF and with many processes it costs more than it may."""
	children.spawn(["sh", "-c", "for i in $(seq 800); do sleep 100 & done; wait"])
	cold.start("--no-bpf")
	status = wait_for(lambda: (status := cold.result("daemon.status"))["left_out"] and status)
	assert status["configured_interval_seconds"] == 1.0
	assert "over its own budget: %s left out" % status["left_out"] in " ".join(cold.proctor("status").stdout.split())


def test_it_stores_what_it_sees_and_ends_cleanly(daemon):
	wait_for(lambda: daemon.result("daemon.top")["seq"] >= 3)
	assert daemon.stop() == 0, daemon.log_text()
	assert not daemon.socket.exists()
	assert daemon.proctor.sql("SELECT count(*) AS n FROM snapshots")[0]["n"] >= 3
	assert (daemon.proctor.state_dir / "monitor.jsonl").exists()


def test_a_second_one_on_the_same_store_names_the_first(daemon):
	done = daemon.proctor("daemon", "--socket", daemon.place / "run/other.sock")
	assert done.returncode == 1
	assert "pid %d; stop it, or choose another --state-dir DIR\n" % daemon.process.pid in done.stderr
	assert not (daemon.place / "run/other.sock").exists()


def test_a_second_one_on_the_same_socket_leaves_it_alone(daemon):
	done = daemon.proctor("daemon", "--state-dir", daemon.place / "other")
	assert done.returncode == 1
	assert "process %d listens on '%s' already;" % (daemon.process.pid, daemon.socket) in done.stderr
	assert daemon.result("daemon.status")["pid"] == daemon.process.pid


def test_what_a_killed_one_left_is_replaced(cold):
	cold.start()
	cold.process.kill()
	cold.process.wait()
	assert cold.socket.exists()
	cold.start()
	assert cold.result("daemon.status")["pid"] == cold.process.pid


def test_what_has_the_name_of_its_socket_stays(cold):
	cold.socket.write_text("a diary", encoding="utf-8")
	cold.start(wait=False)
	assert cold.process.wait(timeout=30) == 1
	assert "'%s' is a file: remove it, or choose another path with --socket" % cold.socket in cold.log_text()
	assert cold.socket.read_text(encoding="utf-8") == "a diary"


def test_two_may_listen_in_one_directory(daemon, children):
	other = daemon.place / "run/other.sock"
	one = children.spawn([daemon.proctor.binary, "daemon", "--state-dir", str(daemon.place / "other"), "--socket", str(other)],
			     env={**daemon.proctor.env, **SANITIZERS}, stderr=subprocess.DEVNULL)
	wait_for(lambda: daemon.proctor("status", "--socket", other).returncode == 0)
	one.terminate()
	assert one.wait(timeout=60) == 0
	assert not other.exists() and daemon.socket.exists()


def test_a_directory_that_others_can_write_to_is_refused(cold):
	cold.socket.parent.chmod(0o777)
	cold.start(wait=False)
	assert cold.process.wait(timeout=30) == 1
	assert "writable by other users" in cold.log_text()


@pytest.mark.needs_root
def test_a_directory_of_another_user_is_refused_as_such(cold, as_nobody):
	done = as_nobody("daemon", "--socket", str(cold.socket))
	assert done.returncode == 1 and "'%s' belongs to user 0; choose another path" % cold.socket.parent in done.stderr, done.stderr


@pytest.mark.needs_root
def test_another_users_socket_is_not_trusted(cold):
	"""Somebody else's socket, where clients expect the daemon's."""
	place = cold.place / "squat"
	place.mkdir()
	os.chown(place, 65534, 65534)
	program = ("import socket,sys,time\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen(5)\nprint('up', flush=True)\n"
		   "time.sleep(60)")
	squatter = subprocess.Popen(["/usr/bin/python3", "-c", program, str(place / "daemon.sock")], user=65534, group=65534,
				    stdout=subprocess.PIPE, text=True)
	try:
		assert squatter.stdout.readline() == "up\n"
		done = cold.proctor("status", "--socket", place / "daemon.sock")
		assert done.returncode == 4 and "not trusted" in done.stderr
		run = cold.proctor("run", "--", "true", env={"PROCTOR_SOCKET": str(place / "daemon.sock")})
		assert run.returncode == 0 and run.stderr == ""
	finally:
		squatter.kill()
		squatter.wait()
		squatter.stdout.close()


def test_hangup_reads_the_configuration_again(daemon):
	daemon.config.write_text("[profiler]\ninterval_seconds = 2\n", encoding="utf-8")
	daemon.process.send_signal(signal.SIGHUP)
	wait_for(lambda: daemon.result("daemon.status")["interval_seconds"] == 2.0)
	assert "one tick every 2 s" in daemon.log_text()


def test_a_bad_configuration_keeps_the_old_one_and_logs_the_reason(daemon):
	daemon.config.write_text("[profiler]\ninterval_seconds = 2\nintervall = 3\n", encoding="utf-8")
	daemon.process.send_signal(signal.SIGHUP)
	problem = wait_for(lambda: daemon.result("daemon.status")["config_problem"])
	assert ":3:" in problem and "intervall" in problem
	assert daemon.result("daemon.status")["interval_seconds"] == 1.0
	assert "stays in force" in daemon.log_text()
	assert "intervall" in daemon.proctor("status").stdout
	daemon.config.write_text("[profiler]\ninterval_seconds = 3\n", encoding="utf-8")
	daemon.process.send_signal(signal.SIGHUP)
	wait_for(lambda: daemon.result("daemon.status")["config_problem"] is None)
	assert daemon.result("daemon.status")["interval_seconds"] == 3.0


def test_what_waits_for_a_restart_is_named(daemon):
	daemon.config.write_text("[profiler]\ninterval_seconds = 1\nenabled = false\ngpu_enabled = false\nstorage_path = /nowhere/x.db\n"
				 "[limits]\nmax_clients = 7\nmax_memory_mb = 100000\n", encoding="utf-8")
	daemon.process.send_signal(signal.SIGHUP)
	wait_for(lambda: "configuration reloaded" in daemon.log_text())
	names = "profiler.enabled, profiler.gpu_enabled, profiler.storage_path, limits.max_clients"
	assert "changed, effective after a restart: %s\n" % names in daemon.log_text()
	assert daemon.result("daemon.status")["enabled"] is True


def test_disabled_it_answers_and_collects_nothing(cold):
	cold.config.write_text("[profiler]\nenabled = false\n", encoding="utf-8")
	cold.start(wait=False)
	wait_for(cold.socket.exists)
	status = wait_for(lambda: cold.proctor("status", "--json").returncode == 0 and cold.result("daemon.status"))
	assert status["enabled"] is False
	assert cold.result("daemon.top") is None
	assert cold.call("job.start", job_type="x")["error"]["data"]["code"] == "unavailable"
	assert cold.stop() == 0
	assert not (cold.proctor.state_dir / "proctor.db").exists()


@pytest.mark.needs_root
def test_it_keeps_no_capability_that_it_does_not_need(daemon):
	kept = {"cap_net_admin": 12, "cap_sys_ptrace": 19, "cap_sys_resource": 24, "cap_dac_read_search": 2, "cap_perfmon": 38, "cap_bpf": 39}
	allowed = sum(1 << bit for bit in kept.values())
	for task in os.listdir("/proc/%d/task" % daemon.process.pid):
		with open("/proc/%d/task/%s/status" % (daemon.process.pid, task), encoding="utf-8") as text:
			lines = dict(line.split(":\t", 1) for line in text if ":\t" in line)
		for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
			assert int(lines[kind], 16) & ~allowed == 0, (task, kind, lines[kind])
		assert lines["NoNewPrivs"].strip() == "1"


class Supervisor:
	"""What systemd hears."""

	def __init__(self, path):
		self.path = path
		self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		self.socket.bind(str(path))
		self.socket.settimeout(30)
		self.heard = []

	def wait_for(self, word):
		while not any(word in text for text in self.heard):
			self.heard.append(self.socket.recv(4096).decode())


def test_the_supervisor_hears_of_everything(cold):
	supervisor = Supervisor(cold.place / "notify")
	cold.start(env={"NOTIFY_SOCKET": str(cold.place / "notify"), "WATCHDOG_USEC": "1000000"})
	supervisor.wait_for("READY=1")
	assert "STATUS=watching" in "".join(supervisor.heard)
	supervisor.wait_for("WATCHDOG=1")
	supervisor.heard.clear()
	cold.process.send_signal(signal.SIGHUP)
	supervisor.wait_for("RELOADING=1")
	assert "MONOTONIC_USEC=" in "".join(supervisor.heard)
	supervisor.wait_for("READY=1")
	supervisor.heard.clear()
	supervisor.wait_for("WATCHDOG=1")
	assert cold.stop() == 0
	supervisor.wait_for("STOPPING=1")
	supervisor.socket.close()


def test_a_stopped_one_does_not_feed_its_watchdog(cold):
	supervisor = Supervisor(cold.place / "notify")
	cold.start(env={"NOTIFY_SOCKET": str(cold.place / "notify"), "WATCHDOG_USEC": "400000"})
	supervisor.wait_for("WATCHDOG=1")
	cold.process.send_signal(signal.SIGSTOP)
	time.sleep(0.5)
	supervisor.socket.setblocking(False)
	try:
		while True:
			supervisor.socket.recv(4096)
	except BlockingIOError:
		pass
	time.sleep(1)
	with pytest.raises(BlockingIOError):
		supervisor.socket.recv(4096)
	cold.process.send_signal(signal.SIGCONT)
	supervisor.socket.close()


@pytest.mark.skipif(not shutil.which("systemd-socket-activate"), reason="NOT RUN: no systemd-socket-activate")
def test_it_takes_the_socket_that_it_is_started_with(cold):
	given = cold.place / "run/given.sock"
	words = ["systemd-socket-activate", "--listen", str(given), *("--setenv=%s=%s" % pair for pair in cold.proctor.env.items()),
		 cold.proctor.binary, "daemon", "--config", str(cold.config)]
	with open(cold.log, "ab") as log:
		cold.process = subprocess.Popen(words, env=cold.proctor.env, stdout=log, stderr=log)
	wait_for(given.exists)
	cold.socket = given
	assert cold.result("daemon.status")["pid"] == cold.process.pid
	assert cold.stop() == 0, cold.log_text()
	assert given.exists()  # it is not ours to remove


def test_without_a_place_for_the_socket_it_names_what_to_set(as_nobody):
	done = as_nobody("daemon")
	assert done.returncode == 1 and "--socket" in done.stderr


def test_a_user_may_have_a_private_daemon(as_nobody):
	place = as_nobody.place
	runtime = place / "runtime"
	runtime.mkdir(mode=0o700)
	os.chown(runtime, 65534, 65534)
	env = {**as_nobody.env, "XDG_RUNTIME_DIR": str(runtime)}
	child = subprocess.Popen([str(place / "proctor"), "daemon", "--interval", "1"], env=env, user=65534, group=65534, extra_groups=[],
				 cwd=place, stderr=subprocess.PIPE, text=True)
	try:
		wait_for(lambda: as_nobody("status", env=env).returncode == 0 or child.poll() is not None)
		assert (runtime / "proctor/daemon.sock").exists()
	finally:
		child.terminate()
		_, err = child.communicate(timeout=30)
	assert child.returncode == 0, err


PACKAGING = Path(__file__).resolve().parents[2] / "packaging/systemd"


def unit_of(tmp_path, built, socket_unit):
	"""The service with a program that is there, beside its socket."""
	unit = tmp_path / "proctor.service"
	text = (Path(os.environ.get("PROCTOR_BUILD_DIR", "build-test")) / "packaging" / built).read_text(encoding="utf-8")
	unit.write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", text), encoding="utf-8")
	shutil.copy(PACKAGING / socket_unit, tmp_path)
	return unit


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="NOT RUN: no systemd-analyze")
def test_the_unit_exposes_little(tmp_path):
	"""3.5 of 10 at most, by systemd's own judgement, and nothing in it that systemd does not know."""
	unit = unit_of(tmp_path, "proctor.service", "proctor.socket")
	done = subprocess.run(["systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=35", str(unit)],
			      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
	assert done.returncode == 0, done.stdout[-500:]
	done = subprocess.run(["systemd-analyze", "verify", str(unit)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
	assert "proctor" not in done.stdout, done.stdout


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="NOT RUN: no systemd-analyze")
def test_the_users_units_are_good_and_listen_where_clients_connect(tmp_path):
	unit = unit_of(tmp_path, "proctor-user.service", "user/proctor.socket")
	runtime = tmp_path / "runtime"
	runtime.mkdir(mode=0o700)
	done = subprocess.run(["systemd-analyze", "--user", "verify", str(tmp_path / "proctor.socket"), str(unit)],
			      env=clean_environment(XDG_RUNTIME_DIR=str(runtime)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
	assert done.returncode == 0 and "proctor" not in done.stdout, done.stdout
	listens = re.search(r"^ListenStream=(.*)", (tmp_path / "proctor.socket").read_text(encoding="utf-8"), re.M).group(1)
	assert listens == "%t/proctor/daemon.sock"  # %t is $XDG_RUNTIME_DIR
	assert re.search(r"^Requires=proctor.socket$", unit.read_text(encoding="utf-8"), re.M)


def test_each_unit_is_installed_with_its_socket():
	build = os.environ.get("PROCTOR_BUILD_DIR", "build-test")
	done = subprocess.run(["meson", "introspect", "--installed", build], stdout=subprocess.PIPE, text=True, check=True)
	units = {path.split("/lib/systemd/")[1] for path in json.loads(done.stdout).values() if "/lib/systemd/" in path}
	assert units == {"system/proctor.service", "system/proctor.socket", "user/proctor.service", "user/proctor.socket"}
