# SPDX-License-Identifier: MIT
"""Deleting recorded jobs."""
import json

import pytest

from conftest import wait_for
from daemonkit import cold, daemon  # noqa: F401  pylint: disable=unused-import


def run_job(proctor, job_id, *options, command=("true",), code=0):
	done = proctor("run", "--quiet", "--job-id", job_id, *options, "--", *command)
	assert done.returncode == code, done.stderr


def ids(proctor):
	return {job["job_id"] for job in json.loads(proctor("ls", "--json").stdout)["jobs"]}


def count(proctor, table, where="1"):
	return proctor.sql("SELECT count(*) AS n FROM %s WHERE %s" % (table, where))[0]["n"]


def check_that_a_job_goes_and_another_stays(proctor):
	run_job(proctor, "gone", command=("sh", "-c", "sleep 0.2; /bin/true; /bin/true"))
	run_job(proctor, "kept", command=("sh", "-c", "sleep 0.2; /bin/true"))
	before = proctor("report", "kept", "--json").stdout, proctor("events", "kept", "--json").stdout
	done = proctor("rm", "gone")
	assert (done.returncode, done.stdout, done.stderr) == (0, "deleted gone with 4 processes\n", "")
	assert ids(proctor) == {"kept"}
	assert proctor("report", "gone").returncode == 3
	assert proctor("rm", "gone").returncode == 3
	assert (proctor("report", "kept", "--json").stdout, proctor("events", "kept", "--json").stdout) == before
	assert count(proctor, "process", "job IS NULL") == 0
	run_job(proctor, "gone")  # the name is free again
	assert ids(proctor) == {"gone", "kept"}


def test_a_job_goes_and_another_stays(proctor):
	check_that_a_job_goes_and_another_stays(proctor)


def test_a_plain_user_deletes_jobs_of_their_own(as_nobody):
	check_that_a_job_goes_and_another_stays(as_nobody)


def test_jobs_are_selected_by_age_type_and_outcome(proctor):
	run_job(proctor, "a", "--name", "build")
	run_job(proctor, "b", "--name", "build", command=("false",), code=1)
	run_job(proctor, "c", "--name", "train", command=("false",), code=1)
	assert proctor("rm", "--older-than", "1h").stdout == ""
	done = proctor("rm", "--type", "build", "--outcome", "failed", "--dry-run")
	assert (done.returncode, done.stdout) == (0, "would delete b\n")
	assert ids(proctor) == {"a", "b", "c"}
	answer = json.loads(proctor("rm", "--outcome", "failed", "--json").stdout)
	assert answer["schema"] == 1 and answer["dry_run"] is False
	assert {job["job_id"] for job in answer["deleted"]} == {"b", "c"}
	assert ids(proctor) == {"a"}
	assert proctor("rm", "--older-than", "0").stdout == "deleted a with 1 process\n"
	assert ids(proctor) == set()


def test_jobs_are_selected_by_tag_and_time_as_ls_selects_them(proctor):
	run_job(proctor, "a", "--tag", "branch=main")
	run_job(proctor, "b", "--tag", "branch=old")
	run_job(proctor, "c")
	assert proctor("rm", "--tag", "branch=old", "--dry-run").stdout == "would delete b\n"
	assert proctor("rm", "--tag", "branch", "--until", "1h ago").stdout == ""
	assert proctor("rm", "--tag", "branch", "--older-than", "1h", "--until", "now").stdout == ""
	done = proctor("rm", "--tag", "branch", "--since", "1h ago")
	assert done.returncode == 0 and sorted(done.stdout.splitlines()) == ["deleted a with 1 process", "deleted b with 1 process"]
	assert ids(proctor) == {"c"}


@pytest.mark.parametrize("args, word", [([], "no job given"), (["x", "--type", "y"], "not both"), (["--outcome", "fine"], "--outcome 'fine': write ok, failed")])
def test_a_request_without_sense_is_refused(proctor, args, word):
	run_job(proctor, "x")
	done = proctor("rm", *args)
	assert done.returncode == 2 and word in done.stderr
	assert ids(proctor) == {"x"}


def test_a_running_job_is_refused_and_the_others_go(proctor, children, gate):
	run_job(proctor, "over")
	job = children.spawn([proctor.binary, "run", "--job-id", "runs", "--", "sh", "-c", "read go <%s; true" % gate], env=proctor.env)
	wait_for(lambda: "runs" in ids(proctor))
	dry = proctor("rm", "--dry-run", "runs", "over")
	assert (dry.returncode, dry.stdout, dry.stderr) == (1, "would delete over\n", "proctor: job 'runs' is running: not deleted\n")
	done = proctor("rm", "runs", "over")
	assert done.returncode == 1 and done.stdout == "deleted over with 1 process\n"
	assert done.stderr == "proctor: job 'runs' is running: not deleted\n"
	assert proctor("rm", "--older-than", "0").stdout == ""
	gate.open()
	assert job.wait(60) == 0
	assert "deleted runs" in proctor("rm", "last").stdout


def test_a_job_goes_while_the_daemon_that_recorded_it_runs(daemon, children):
	worker = children.spawn(["sleep", "60"])
	assert daemon.result("job.start", job_id="registered", pid=worker.pid)
	assert daemon.proctor("rm", "registered").returncode == 1
	daemon.result("job.end", job_id="registered", exit_code=0)
	done = daemon.proctor("rm", "registered")
	assert done.returncode == 0 and done.stdout.startswith("deleted registered"), done.stderr
	assert "registered" not in ids(daemon.proctor)
	assert daemon.result("job.start", job_id="again", pid=worker.pid)
	daemon.result("job.end", job_id="again", exit_code=0)
	report = json.loads(daemon.proctor("report", "again", "--json").stdout)
	assert report["job"]["job_id"] == "again" and report["result"] == "ok"
	assert worker.poll() is None


@pytest.mark.needs_root
def test_a_copy_that_roots_daemon_keeps_is_mentioned(daemon, as_nobody):
	with_daemon = {"PROCTOR_SOCKET": str(daemon.socket)}
	for name in ("one", "two", "three", "alone"):
		env = with_daemon if name != "alone" else {"PROCTOR_SOCKET": "/nonexistent"}
		assert as_nobody("run", "-q", "--job-id", name, "--", "sleep", "0.1", env=env).returncode == 0
	stored = lambda: {job["job_id"] for job in json.loads(daemon.proctor("ls", "--json").stdout)["jobs"] if job["uid"] == 65534}
	wait_for(lambda: stored() == {"one", "two", "three"})
	dry = as_nobody("rm", "--dry-run", "one", env=with_daemon)
	assert (dry.stdout, dry.stderr) == ("would delete one\n", "")
	assert as_nobody("rm", "alone", env=with_daemon).stderr == ""  # only the user's own store had it
	done = as_nobody("rm", "one", env=with_daemon)
	line, = done.stderr.splitlines()
	assert done.returncode == 0 and "the daemon has a copy of job 'one'; root can delete it: proctor rm --state-dir " in line
	advice = line.rsplit("proctor ", 1)[1].split()
	assert "deleted one" in daemon.proctor(*advice).stdout and stored() == {"two", "three"}
	done = as_nobody("rm", "two", "three", env=with_daemon)
	assert "the daemon has 2 copies of these jobs" in done.stderr and done.stderr.count("\n") == 1
