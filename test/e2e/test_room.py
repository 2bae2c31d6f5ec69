# SPDX-License-Identifier: MIT
"""`proctor pressure` and `run --wait-for-room`: asked of a daemon, or sampled without one."""
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import SANITIZERS, wait_for

LIMIT_MB = 1200  # beside the work it holds a daemon with sanitizers, which keep up to 256 MB of freed memory
LEVELS = ["none", "low", "medium", "high", "critical"]


def ask(proctor, *words):
	done = proctor("pressure", "--json", *words)
	assert done.returncode == 0, done.stderr
	return json.loads(done.stdout)


def set_limit(daemon, mb):
	text = "[profiler]\ninterval_seconds = 1\n" + ("[limits]\nmax_memory_mb = %d\n" % mb if mb else "")
	daemon.config.write_text(text, encoding="utf-8")


def test_the_daemon_is_asked_first(daemon):
	answer = ask(daemon.proctor)
	assert answer["source"] == "daemon" and answer["level"] in LEVELS
	assert ask(daemon.proctor, "--socket", daemon.socket)["source"] == "daemon"
	line = daemon.proctor("pressure").stdout
	assert line.split(":")[0].strip() == answer["level"]


def test_without_a_daemon_a_sample_has_to_do(cold):
	answer = ask(cold.proctor)
	assert answer["source"] == "sample" and answer["level"] in LEVELS
	for words in ([], ["--json"]):
		done = cold.proctor("pressure", "--socket", cold.socket, *words)
		assert done.returncode == 4 and "no daemon answers" in done.stderr
	answer = json.loads(done.stdout)
	assert "no daemon answers" in answer.pop("problem")
	assert answer == {"schema": 1, "level": None, "reason": None, "delay_seconds": None, "admits_job": None, "source": None}


def test_one_that_is_named_and_missing_is_reported(cold):
	done = cold.proctor("pressure", "--json")
	assert json.loads(done.stdout)["problem"] is None
	assert "no daemon answers at %s" % cold.socket in done.stderr and "sampling the machine instead" in done.stderr
	del cold.proctor.env["PROCTOR_SOCKET"]
	done = cold.proctor("pressure")
	assert done.returncode == 0 and "no daemon answers" not in done.stderr


def test_a_limit_that_is_used_up_is_critical_and_admits_nobody(cold):
	set_limit(cold, 1)
	answer = json.loads(cold.proctor("pressure", "--json", "--config", cold.config).stdout)
	assert (answer["level"], answer["admits_job"], answer["delay_seconds"]) == ("critical", False, 60)
	assert "of max_memory_mb (1.0 MiB) is in use" in answer["reason"]
	cold.start()
	answer = cold.result("admit", job_type="train")
	assert (answer["allowed"], answer["pressure_level"]) == (False, "critical") and "memory" in answer["reason"]
	assert answer["based_on"]["memory_limit_mb"] == 1.0 and answer["based_on"]["memory_used_mb"] > 1
	assert cold.result("admit", what="sheet")["allowed"] is False
	assert cold.result("daemon.top")["pressure_level"] == "critical"


def test_waiting_ends_when_there_is_room(cold, children):
	set_limit(cold, 1)
	cold.start()
	done = cold.proctor("pressure", "--wait", "high", "--timeout", "1s")
	assert done.returncode == 1 and done.stdout.startswith("critical")
	waiting = children.spawn([cold.proctor.binary, "pressure", "--wait", "high"], env=cold.proctor.env, stdout=subprocess.PIPE)
	run = children.spawn([cold.proctor.binary, "run", "--wait-for-room", "--", "echo", "ran"],
			     env={**cold.proctor.env, **SANITIZERS}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
	time.sleep(2.5)
	assert waiting.poll() is None and run.poll() is None
	set_limit(cold, 0)
	cold.process.send_signal(1)
	assert waiting.wait(timeout=60) == 0
	out, err = run.communicate(timeout=90)
	assert (run.returncode, out) == (0, "ran\n")
	assert "waiting for room" in err and "of max_memory_mb (1.0 MiB)" in err


@pytest.fixture
def limited():
	"""A control group that may use LIMIT_MB of memory, with a group for each of those within."""
	own = [line.split(":", 2)[2].strip() for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
	       if "memory" in line.split(":")[1].split(",")]
	# Not proctor-…: every run removes empty groups of that name, which a killed one left.
	top = Path("/sys/fs/cgroup/memory%s/room-test-%d" % (own[0] if own else "", os.getpid()))
	if os.geteuid() != 0 or not own:
		pytest.skip("NOT RUN: needs root and the memory controller of cgroup v1")
	groups = [top, top / "daemon", top / "work"]
	for group in groups:
		group.mkdir()
	(top / "memory.limit_in_bytes").write_text(str(LIMIT_MB << 20), encoding="utf-8")
	yield top
	for group in reversed(groups):
		for pid in (group / "cgroup.procs").read_text(encoding="utf-8").split():
			os.kill(int(pid), signal.SIGKILL)
		wait_for(lambda group=group: not (group / "cgroup.procs").read_text(encoding="utf-8"))
		group.rmdir()


def enter(group):
	"""For preexec_fn."""
	return lambda: (group / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")


def test_a_limit_counts_what_cannot_be_given_back_wherever_it_is_set(cold, children, limited, tmp_path):
	"""The limit is that of a group above the daemon's; the file cache that fills it is no pressure, memory that is held is."""
	cold.start(preexec_fn=enter(limited / "daemon"))
	big = tmp_path / "big"  # on a disk
	with open(big, "wb") as file:
		file.truncate(2 * LIMIT_MB << 20)
	children.spawn(["cat", big], stdout=subprocess.DEVNULL, preexec_fn=enter(limited / "work")).wait()
	assert int((limited / "memory.usage_in_bytes").read_text(encoding="utf-8")) > 0.95 * (LIMIT_MB << 20)
	seq = cold.result("daemon.top")["timestamp"]
	wait_for(lambda: cold.result("daemon.top")["timestamp"] > seq + 1)
	basis = cold.result("admit")["based_on"]
	assert basis["memory_limit_mb"] == LIMIT_MB and basis["memory_used_mb"] < LIMIT_MB / 2, basis
	hog = children.python("import time\nheld = bytearray(%d << 20)\nfor i in range(0, len(held), 4096): held[i] = 1\ntime.sleep(600)"
			      % (LIMIT_MB * 0.7), preexec_fn=enter(limited / "work"))
	group = limited.name
	reason = r"\d+ %% of the memory limit of \S*/%s \(1\.2 GiB\) is in use" % group  # a long path is shortened at its beginning
	answer = wait_for(lambda: (answer := cold.result("admit")) and re.fullmatch(reason, answer["reason"] or "") and answer)
	assert answer["pressure_level"] in LEVELS[2:], answer
	for words in (["pressure"], ["status"]):
		assert "/%s (1.2 GiB) is in use" % group in " ".join(cold.proctor(*words).stdout.split())
	assert "/%s (1.2 GiB) is in use" % group in cold.result("daemon.status")["pressure_reason"]
	hog.kill()
	hog.wait()
	wait_for(lambda: cold.result("admit")["pressure_level"] in LEVELS[:2])
	cold.stop()


def test_a_daemon_that_hangs_is_reported_and_a_sample_is_used_instead(daemon):
	daemon.process.send_signal(signal.SIGSTOP)
	try:
		done = daemon.proctor("pressure", "--json")
	finally:
		daemon.process.send_signal(signal.SIGCONT)
	assert done.returncode == 0 and json.loads(done.stdout)["source"] == "sample"
	assert "process %d, does not answer" % daemon.process.pid in done.stderr and "sampling the machine instead" in done.stderr


def test_a_waiting_client_is_informed_when_the_daemon_is_gone(cold, children):
	"""Its limit was the daemon's; a sample of one's own does not have it."""
	set_limit(cold, 1)
	cold.start()
	env = {**cold.proctor.env, **SANITIZERS}
	waiting = children.spawn([cold.proctor.binary, "pressure", "--json", "--wait", "high"], env=env, stdout=subprocess.PIPE,
				 stderr=subprocess.PIPE, text=True)
	run = children.spawn([cold.proctor.binary, "run", "--wait-for-room", "--", "true"], env=env, stderr=subprocess.PIPE, text=True)
	time.sleep(2.5)
	assert waiting.poll() is None and run.poll() is None
	cold.stop()
	out, err = waiting.communicate(timeout=60)
	assert waiting.returncode == 0 and json.loads(out)["source"] == "sample"
	assert err.count("the daemon no longer answers") == 1 and "sampling the machine instead" in err
	_, err = run.communicate(timeout=90)
	assert err.count("the daemon no longer answers") == 1 and run.returncode == 0


def test_the_limits_of_its_own_unit_are_not_those_of_the_machine(cold, limited):
	"""A supervisor limits the daemon itself; what it answers is about the work that others start."""
	(limited / "daemon/memory.limit_in_bytes").write_text(str(LIMIT_MB // 2 << 20), encoding="utf-8")
	cold.start(preexec_fn=enter(limited / "daemon"))
	assert cold.result("admit")["based_on"]["memory_limit_mb"] == LIMIT_MB // 2
	cold.stop()
	cold.start(before=["sh", "-c", 'SYSTEMD_EXEC_PID=$$ exec "$@"', "sh"], preexec_fn=enter(limited / "daemon"))
	assert cold.result("admit")["based_on"]["memory_limit_mb"] == LIMIT_MB
	cold.stop()


@pytest.mark.parametrize("words", [["--wait", "some"], ["word"], ["--timeout", "3"]])
def test_what_is_meant_must_be_clear(cold, words):
	assert cold.proctor("pressure", *words).returncode == 2


def test_a_job_of_which_more_is_expected_than_there_is_room_for_is_not_admitted(cold, tmp_path):
	"""The daemon estimates by itself for a caller that names a type only."""
	cold.start()
	basis = cold.result("admit")["based_on"]
	most = min(filter(None, (basis["memory_limit_mb"], basis["system_memory_total_mb"])))
	rows = "".join("huge,%d,60,%d\nsmall,%d,60,5\n" % (1700000000 + 100 * i, most * .97, 1700000050 + 100 * i) for i in range(20))
	path = tmp_path / "runs.csv"
	path.write_text("job_type,started_at,duration_seconds,peak_used_mb\n" + rows, encoding="utf-8")
	assert cold.proctor("import", path).returncode == 0
	answer = cold.result("admit", job_type="huge")
	assert answer["estimate_from"] == "history" and .9 * most < answer["estimated_memory_mb"] <= most, answer
	basis = answer["based_on"]
	free = min(basis[limit] - basis[used] for limit, used in (("memory_limit_mb", "memory_used_mb"), ("system_memory_total_mb", "system_memory_used_mb"))
		   if basis[limit])
	if answer["estimated_memory_mb"] > free:
		assert answer["allowed"] is False and "an estimated %d MiB do not fit" % answer["estimated_memory_mb"] in answer["reason"], answer
	answer = cold.result("admit", job_type="small")
	assert answer["estimate_from"] == "history" and answer["estimated_memory_mb"] < 50
	answer = cold.result("admit", job_type="huge", estimated_memory_mb=1)
	assert (answer["estimate_from"], answer["estimated_memory_mb"]) == ("caller", 1)
	for params in ({"job_type": "never seen"}, {}, {"what": "sheet", "job_type": "huge"}):
		answer = cold.result("admit", **params)
		assert (answer["estimate_from"], answer["estimated_memory_mb"]) == (None, None), answer


def test_run_starts_at_once_where_there_is_room(cold):
	del cold.proctor.env["PROCTOR_SOCKET"]  # one that is named and missing is reported

	def starts_at_once():
		done = cold.proctor("run", "--wait-for-room", "--", "true")
		assert done.returncode == 0
		assert not done.stderr or done.stderr.startswith("proctor: waiting for room: "), done.stderr
		return not done.stderr

	wait_for(starts_at_once)  # others put pressure on this machine at times
