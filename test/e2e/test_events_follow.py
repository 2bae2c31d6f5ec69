# SPDX-License-Identifier: MIT
"""`proctor events -f`: what happens in a job, as it happens."""
import json
import os
import signal
import subprocess

import pytest

from conftest import wait_for


def start(proctor, children, *command, **how):
	return children.spawn([proctor.binary, "run", "--quiet", "--job-id", "j", "--", *command], env=proctor.env, **how)


def is_running(proctor):
	done = proctor("ls", "--json")
	return done.returncode == 0 and [job for job in json.loads(done.stdout)["jobs"] if job["status"] == "running"]


def follow(proctor, *options, **how):
	return subprocess.Popen([proctor.binary, "events", "-f", "j", *options], env=proctor.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
				stderr=subprocess.PIPE, text=True, **how)


def lines_of(text):
	return [json.loads(line) for line in text.splitlines()]


def key(e):
	"""What an event is; the name of its process may have changed since."""
	return e["timestamp"], e["event_type"], e["pid"] or 0, e["details"]


def check_that_each_event_comes_once(proctor, children, **how):
	"""Followed from its beginning, from its middle, and read when it is over: the same events."""
	job = start(proctor, children, "sh", "-c", 'i=0; while [ $i -lt 60 ]; do /bin/sleep 0.02; "$PROCTOR" mark m$i; i=$((i+1)); done', **how)
	wait_for(lambda: is_running(proctor))
	first = follow(proctor, "--json", **how)
	wait_for(lambda: len(lines_of(proctor("events", "j", "--json", "--kind", "mark").stdout)) > 20)
	second = follow(proctor, "--json", **how)
	printed = [lines_of(one.communicate(timeout=60)[0]) for one in (first, second)]
	assert (first.returncode, second.returncode, job.wait(60)) == (0, 0, 0)
	marks = [e["name"] for e in printed[0] if e["event_type"] == "mark"]
	assert marks == ["m%d" % i for i in range(60)]
	over = lines_of(proctor("events", "j", "--json").stdout)
	for one in printed:
		assert sorted(map(key, one)) == sorted(map(key, over))


def test_each_event_comes_once(proctor, children):
	check_that_each_event_comes_once(proctor, children)


def test_events_come_while_the_job_runs(proctor, children, gate):
	job = start(proctor, children, "sh", "-c", '"$PROCTOR" mark one; read go <%s; "$PROCTOR" mark two' % gate)
	wait_for(lambda: is_running(proctor))
	reader = follow(proctor, "--kind", "mark")
	assert "EVENT" in reader.stdout.readline()
	assert " one" in reader.stdout.readline()
	assert job.poll() is None
	gate.open()
	rest = reader.communicate(timeout=60)[0]
	assert " two" in rest and " one" not in rest
	assert reader.returncode == 0 and job.wait(60) == 0


@pytest.mark.parametrize("signo", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_reader_and_not_the_job(proctor, children, gate, signo):
	job = start(proctor, children, "sh", "-c", "read go <%s; true" % gate)
	wait_for(lambda: is_running(proctor))
	reader = follow(proctor)
	reader.stdout.readline()
	reader.send_signal(signo)
	_, err = reader.communicate(timeout=20)
	assert (reader.returncode, err) == (0, "")
	assert job.poll() is None
	gate.open()
	assert job.wait(60) == 0


def test_it_ends_when_nobody_reads(proctor, children, gate):
	job = start(proctor, children, "sh", "-c", "read go <%s; true" % gate)
	wait_for(lambda: is_running(proctor))
	reader = follow(proctor)
	reader.stdout.readline()
	reader.stdout.close()
	assert reader.wait(20) == 0
	reader.stderr.close()
	gate.open()
	assert job.wait(60) == 0


def test_it_ends_with_a_recorder_that_is_killed(proctor, children):
	job = start(proctor, children, "sleep", "60")
	wait_for(lambda: is_running(proctor))
	reader = follow(proctor)
	reader.stdout.readline()
	os.kill(job.pid, signal.SIGKILL)
	_, err = reader.communicate(timeout=20)
	assert (reader.returncode, err) == (0, "proctor: the recorder of job 'j' is gone\n")


def test_a_job_that_is_over_is_shown_whole(proctor):
	assert proctor("run", "--quiet", "--job-id", "j", "--", "true").returncode == 0
	done = proctor("events", "-f", "--json")
	assert done.returncode == 0
	assert sorted(done.stdout.splitlines()) == sorted(proctor("events", "--json").stdout.splitlines())
	assert len(proctor("events", "-f", "-n", "1", "--json").stdout.splitlines()) == 1


def test_a_job_that_does_not_exist_is_not_found(proctor):
	assert proctor("run", "--quiet", "--", "true").returncode == 0
	assert proctor("events", "-f", "none").returncode == 3


def test_a_plain_user_follows_too(as_nobody):
	assert as_nobody("run", "--quiet", "--job-id", "j", "--", "true").returncode == 0
	done = as_nobody("events", "-f", "j", "--json")
	assert done.returncode == 0 and [e["event_type"] for e in lines_of(done.stdout)][-1] == "exit"
