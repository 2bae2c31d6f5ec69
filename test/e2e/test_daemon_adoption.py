# SPDX-License-Identifier: MIT
"""Processes that descend from no job and belong to one all the same: by their environment, control group or command line."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from conftest import STORES, clean_environment
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import wait_for


def job_ids(daemon):
	"""pid → job_id"""
	return {p["pid"]: p["job_id"] for p in daemon.result("daemon.top")["processes"]}


def status_of(daemon, job_id):
	return next(job["status"] for job in daemon.result("job.list")["jobs"] if job["job_id"] == job_id)


def wait_for_member(daemon, pid, job_id):
	wait_for(lambda: job_ids(daemon).get(pid) == job_id)


def uids_of(pid):
	line = next(line for line in Path("/proc/%d/status" % pid).read_text(encoding="utf-8").splitlines() if line.startswith("Uid:"))
	return [int(word) for word in line.split()[1:]]


def with_id(job_id):
	return clean_environment(PROCTOR_JOB_ID=job_id)


def test_a_process_with_the_jobs_id_in_its_environment_is_adopted(daemon, children):
	"""Be it older than the job or younger; not another user's, because any user could name any job; and all that descends from it."""
	early = children.spawn(["sleep", "60"], env=with_id("far"))
	other = children.spawn(["setpriv", "--reuid=65534", "--clear-groups", "sleep", "62"], env=with_id("far"))
	unrelated = children.spawn(["sleep", "63"], env=with_id("farther"))
	worker = children.spawn(["sleep", "64"])
	daemon.result("job.start", job_id="far", pid=worker.pid)
	wait_for_member(daemon, early.pid, "far")
	late = children.spawn(["sh", "-c", "sleep 65 & wait"], env=with_id("far"))
	wait_for_member(daemon, late.pid, "far")
	wait_for(lambda: list(job_ids(daemon).values()).count("far") == 4)
	known = job_ids(daemon)
	assert known[worker.pid] == "far"
	assert known[unrelated.pid] is None
	assert os.geteuid() != 0 or known[other.pid] is None
	early.kill()
	early.wait()
	daemon.result("job.end", job_id="far")
	assert daemon.result("job.profile", job_id="far")["unique_pid_count"] == 4


# Becomes root as sudo does, and starts a command with the environment of its caller; then it stays, ends, or is replaced by it.
LIKE_SUDO = """
import os, sys, time
os.setresuid(0, 0, 0)
child = 0 if sys.argv[1] == "exec" else os.fork()
if not child:
	os.execvp("sleep", ["sleep", "60"])
print(child, flush=True)
time.sleep(60 if sys.argv[1] == "stay" else 0)
"""


@pytest.fixture
def set_uid():
	"""set_uid(PROGRAM): a copy that runs as root, whoever starts it."""
	place = Path(tempfile.mkdtemp(prefix="set-uid-", dir=STORES))
	place.chmod(0o755)

	def copy(program):
		to = place / Path(program).name
		shutil.copy(program, to)
		to.chmod(0o4755)
		return str(to)

	yield copy
	shutil.rmtree(place)


@pytest.mark.needs_root
def test_a_stranger_cannot_have_root_processes_join_a_job_of_root(daemon, children, set_uid):
	"""Set-user-id programs keep the environment and the arguments of the user behind them; a stopped one does so for long."""
	def stranger(*line, **how):
		as_shell = ["setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", 'exec "$@"', "sh"]
		return children.spawn([*as_shell, *line], env=with_id("deploy"), text=True, **how)

	worker = children.spawn(["sleep", "60"])
	daemon.result("job.start", job_id="deploy", pid=worker.pid, workspace="/srv/deploy")
	sleep, python = set_uid(shutil.which("sleep")), set_uid(os.path.realpath(sys.executable))
	plain, stopped = stranger(sleep, "60"), stranger(sleep, "61")
	naming = stranger(python, "-c", "import os, time; os.setresuid(0, 0, 0); time.sleep(60)", "/srv/deploy")
	replaced = stranger(python, "-c", LIKE_SUDO, "exec")
	started = [stranger(python, "-c", LIKE_SUDO, how, stdout=subprocess.PIPE) for how in ("stay", "end")]
	direct = children.spawn([python, "-c", LIKE_SUDO, "exec"], env=with_id("deploy"), user=65534)  # nobody's first program is this one
	foreign = [plain.pid, stopped.pid, naming.pid, replaced.pid, direct.pid, *(int(child.stdout.readline()) for child in started)]
	stopped.send_signal(signal.SIGSTOP)
	wait_for(lambda: all(uids_of(pid)[1] == 0 for pid in foreign))
	own = children.spawn(["sleep", "62"], env=with_id("deploy"))
	wait_for_member(daemon, own.pid, "deploy")
	known = job_ids(daemon)
	try:
		assert [known[pid] for pid in foreign] == [None] * len(foreign)
	finally:
		os.kill(foreign[-1], signal.SIGKILL)
		os.kill(foreign[-2], signal.SIGKILL)


def test_a_daemon_that_comes_back_knows_the_first_process(daemon, children):
	"""An adopted process may be older than it; the job ends with its own."""
	early = children.spawn(["sleep", "60"], env=with_id("kept"))
	time.sleep(0.1)
	worker = children.spawn(["sleep", "61"])
	daemon.result("job.start", job_id="kept", pid=worker.pid)
	wait_for_member(daemon, early.pid, "kept")
	daemon.stop(signal.SIGTERM)
	daemon.start()
	wait_for_member(daemon, early.pid, "kept")
	early.kill()
	early.wait()
	wait_for(lambda: early.pid not in job_ids(daemon))
	assert status_of(daemon, "kept") == "running"
	worker.kill()
	worker.wait()
	wait_for(lambda: status_of(daemon, "kept") != "running")


def test_a_process_that_names_the_jobs_workspace_is_adopted(daemon, children, tmp_path):
	"""A daemon that comes back still knows it."""
	space = tmp_path / "run-1"
	worker = children.spawn(["sleep", "60"])
	script = "import time; time.sleep(60)"
	started = daemon.result("job.start", job_id="spacious", pid=worker.pid, workspace="%s/" % space, tags={"team": "maps"})
	assert started["job_id"] == "spacious"
	inside = children.python(script, "--out=%s/model" % space)
	beside = children.python(script, "%s0" % space)
	wait_for_member(daemon, inside.pid, "spacious")
	assert job_ids(daemon)[beside.pid] is None
	tags = daemon.result("job.list")["jobs"][0]["tags"]
	assert tags == {"team": "maps", "workspace": str(space)}
	daemon.stop(signal.SIGTERM)
	daemon.start()
	again = children.python(script, str(space))
	wait_for_member(daemon, again.pid, "spacious")
	assert job_ids(daemon)[inside.pid] == "spacious"
	for wrong in ("relative/path", "/", ""):
		answer = daemon.call("job.start", pid=worker.pid, workspace=wrong)
		assert answer["error"]["data"]["code"] == "invalid_params", answer


@pytest.fixture
def scope():
	"""A control group as systemd-run --scope makes one."""
	for mount in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
		place = Path(mount) / ("run-u%d.scope" % os.getpid())
		try:
			assert (Path(mount) / "cgroup.procs").exists()
			place.mkdir()
			break
		except (OSError, AssertionError):
			continue
	else:
		pytest.skip("no control group can be made here")
	yield place
	wait_for(lambda: not (place / "cgroup.procs").read_text(encoding="ascii"))
	place.rmdir()


def test_a_process_in_the_jobs_control_group_is_adopted(daemon, children, scope):
	"""The job has the name of the scope, if it is given no other."""
	worker, adopted, outside = (children.spawn(["sleep", "60"]) for _ in range(3))
	for child in (worker, adopted):
		(scope / "cgroup.procs").write_text(str(child.pid), encoding="ascii")
	assert daemon.result("job.start", pid=worker.pid)["job_id"] == scope.name.removesuffix(".scope")
	wait_for_member(daemon, adopted.pid, scope.stem)
	assert job_ids(daemon)[outside.pid] is None
	for child in (worker, adopted):
		child.kill()
		child.wait()
