# SPDX-License-Identifier: MIT
"""proctor top: text and JSON without a screen, and the screen in a terminal."""
import contextlib
import json
import os
import re
import sqlite3
import subprocess

import pytest

from conftest import running_as_nobody, wait_for
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import

NOBODY = 65534


@pytest.fixture
def alone(proctor, tmp_path):
	"""Without a daemon, whatever runs on this machine."""
	proctor.env["PROCTOR_SOCKET"] = str(tmp_path / "no-daemon.sock")
	return proctor


def start_job(proctor, children, gate, *script):
	"""A job in its second sheet, until the gate opens."""
	job = children.spawn([proctor.binary, "run", "--job-id", "eater", "--", "sh", "-c",
			      "%s sheet 1/3 --label prepare -- true; %s sheet 2/3 --label fit -- sh -c '%s read go <%s'" %
			      (proctor.binary, proctor.binary, "; ".join([*script, ""]), gate)], env=proctor.env, stderr=subprocess.DEVNULL)
	wait_for(lambda: (proctor.state_dir / "jobs/eater/sock").exists())
	return job


def top(proctor, *args):
	done = proctor("top", *args)
	assert (done.returncode, done.stderr) == (0, ""), done.stderr
	return done.stdout


def test_one_screen_shows_the_job_its_step_and_the_sampler(alone, children, gate):
	start_job(alone, children, gate)
	def screen():
		text = top(alone, "--once", "--width", "120", "--height", "40")
		return "2/3 fit" in text and text
	lines = wait_for(screen).splitlines()
	assert "own sampling" in lines[0]
	assert len(lines) == 40
	assert "eater" in lines[4] and "33%" in lines[4]
	assert any("sheet 2 fit began" in line for line in lines)
	gate.open()


@pytest.mark.needs_root
def test_what_a_process_waits_in_is_shown(alone, children):
	sleeper, reader = children.spawn(["sleep", "300.25"]), children.spawn(["sh", "-c", "read line <&0"], stdin=subprocess.PIPE)
	def doing():
		lines = top(alone, "--once", "--width", "160", "--height", "400").splitlines()
		return {int(words[0]): words[1] for words in (re.findall(r" (%d|%d) .* \d+s (.*)$" % (sleeper.pid, reader.pid), line) for line in lines) for words in words}
	wait_for(lambda: doing() == {sleeper.pid: "clock_nanosleep", reader.pid: "read pipe"})


@pytest.mark.parametrize("width,height", [(40, 10), (300, 80), (1, 1)])
def test_one_screen_fits_any_size(alone, width, height):
	lines = top(alone, "--once", "--width", width, "--height", height).split("\n")
	assert len(lines) == height + 1
	assert max(map(len, lines)) <= width


def test_json_has_a_snapshot_a_line_with_jobs(alone, children, gate):
	start_job(alone, children, gate)
	stream = children.spawn([alone.binary, "top", "--json", "--interval", "0.2"], env=alone.env, stdout=subprocess.PIPE, text=True)
	seen = wait_for(lambda: any(job["job_id"] == "eater" for job in json.loads(stream.stdout.readline())["job_progress"]), step=0)
	assert seen
	stream.terminate()
	stream.wait(timeout=60)
	gate.open()


def test_a_sheet_that_begins_while_it_is_watched_has_its_processes(alone, children, gate):
	job = children.spawn([alone.binary, "run", "--job-id", "eater", "--", "sh", "-c", "read go <%s; %s sheet 1/2 -- sh -c 'sleep 300.25; :'" % (gate, alone.binary)],
			     env=alone.env, stderr=subprocess.DEVNULL)
	stream = children.spawn([alone.binary, "top", "--json", "--interval", "0.2"], env=alone.env, stdout=subprocess.PIPE, text=True)
	def sheets():
		snapshot = json.loads(stream.stdout.readline())
		found = {p["command"].split()[0]: p["sheet_num"] for p in snapshot["processes"] if p["job_id"] == "eater"}
		return (snapshot["active_sheets"] or "sleep" not in found) and found
	wait_for(sheets, step=0)
	gate.open()
	found = wait_for(lambda: (now := sheets()) and "sleep" in now and now, step=0)
	assert found["sleep"] == 1, found
	stream.terminate()
	job.terminate()


def test_json_of_one_job_has_only_that(alone, children, gate):
	start_job(alone, children, gate)
	wait_for(lambda: alone.sql("SELECT 1 FROM jobs"))
	for name in ("eater", "last", "sh", "ate"):  # as in every verb: an id, the latest, a type, a part
		def snapshot(name=name):
			return json.loads(top(alone, "--json", "--once", "--job", name))
		found = wait_for(lambda: (s := snapshot())["processes"] and s)
		assert {p["job_id"] for p in found["processes"]} == {"eater"}
	gate.open()


@pytest.mark.parametrize("form", [["--once"], ["--json"], ["--json", "--history", "1h"], ["--once", "--history", "1h"]])
def test_a_job_that_is_not_there_is_an_error_with_a_remedy(alone, form):
	done = alone("top", "--job", "nope", *form)
	assert (done.returncode, done.stdout) == (3, "") and "start with: proctor run" in done.stderr
	assert alone("run", "--job-id", "over", "--", "true").returncode == 0
	done = alone("top", "--job", "nope", *form)
	assert (done.returncode, done.stdout) == (3, "") and "no job 'nope'" in done.stderr and "proctor ls" in done.stderr


def test_a_job_that_ended_long_ago_is_not_waited_for(alone):
	assert alone("run", "--job-id", "over", "--", "true").returncode == 0
	with contextlib.closing(sqlite3.connect(alone.state_dir / "proctor.db")) as store, store:
		store.execute("UPDATE job SET started = started - 9000, ended = ended - 9000")
	done = alone("top", "--once", "--job", "over")
	assert (done.returncode, done.stdout) == (1, "")
	assert "job 'over' has ended; see: proctor report over, or proctor top --history 3h --job over" in done.stderr


def test_the_past_is_one_document(alone):
	assert alone("record", "--interval", "0.1", "--for", "1").returncode == 0
	past = json.loads(top(alone, "--history", "1h", "--json"))
	assert past["duration_seconds"] == 3600
	assert past["snapshot_count"] == len(past["snapshots"]) >= 2
	assert past["event_count"] == len(past["events"])
	assert past["snapshots"][0]["processes"]
	shares = [snapshot["psi_cpu_percent"] for snapshot in past["snapshots"]]
	assert shares[0] is None and all(0 <= share <= 100 for share in shares[1:]), shares  # a share needs the snapshot before, too
	screen = top(alone, "--history", "1h", "--once", "--width", "100", "--height", "24")
	assert "recorded" in screen.splitlines()[0] and "in no job" in screen


def test_the_past_of_one_job_begins_where_it_ran(alone):
	assert alone("run", "--job-id", "over", "--interval", "0.05", "--", "sleep", "0.5").returncode == 0
	assert alone("run", "--job-id", "later", "--interval", "0.05", "--", "sleep", "0.3").returncode == 0
	lines = top(alone, "--history", "1h", "--once", "--job", "over", "--width", "80", "--height", "24").splitlines()
	assert "over" in lines[4] and "running" in lines[4] and "sleep 0.5" in lines[5], "\n".join(lines)


@pytest.fixture
def twins(daemon, children):
	"""A daemon with a job `train` of nobody and one of root, and the pids of their processes by their users."""
	pids = {}
	for uid, seconds in ((NOBODY, "3001"), (0, "3002")):
		pids[uid] = children.spawn(["sleep", seconds], user=uid, group=uid, extra_groups=[]).pid
		daemon.result("job.start", uid=uid, job_id="train", pid=pids[uid])
		daemon.result("sheet.started", uid=uid, job_id="train", sheet_num=1, label="of-%d" % uid, pid=pids[uid])
	daemon.wait_ticks()
	daemon.pids = pids
	return daemon


def processes_of(lines):
	"""What stands below each job, in order: the job's user and the commands of its processes."""
	jobs = []
	for words in (line.split() for line in lines):
		if "train" in words and set(words) & {"root", "nobody"}:
			jobs.append([next(word for word in words if word in ("root", "nobody"))])
		elif "sleep" in words and words[words.index("sleep") + 1] in ("3001", "3002") and jobs:
			jobs[-1].append(words[words.index("sleep") + 1])
	return sorted(jobs)


@pytest.mark.needs_root
def test_jobs_of_two_users_with_the_same_id_have_their_own_processes(twins):
	lines = top(twins.proctor, "--once", "--width", "140", "--height", "40").splitlines()
	tree = lines[:next(i for i, line in enumerate(lines) if " events " in line)]
	assert processes_of(tree) == [["nobody", "3001"], ["root", "3002"]], "\n".join(lines)


@pytest.mark.needs_root
@pytest.mark.parametrize("name,uid", [("train", 0), ("0:train", 0), ("nobody:train", NOBODY), ("65534:train", NOBODY)])
def test_a_bare_id_is_the_callers_own_job_and_root_may_name_the_user(twins, name, uid):
	only = json.loads(top(twins.proctor, "--json", "--once", "--job", name))
	assert [(job["job_id"], job["job_uid"]) for job in only["job_progress"]] == [("train", uid)]
	assert [p["pid"] for p in only["processes"]] == [twins.pids[uid]]
	lines = top(twins.proctor, "--once", "--width", "140", "--height", "40", "--job", name).splitlines()
	assert any("sheet 1 of-%d began" % uid in line for line in lines), "\n".join(lines)
	assert not any("of-%d" % (NOBODY - uid) in line for line in lines), "\n".join(lines)
	wait_for(lambda: twins.proctor.sql("SELECT 1 FROM process_metrics WHERE pid = %d AND job_id = 'train'" % twins.pids[uid]))
	past = json.loads(top(twins.proctor, "--json", "--history", "1h", "--job", name))
	assert {p["pid"] for snapshot in past["snapshots"] for p in snapshot["processes"]} == {twins.pids[uid]}
	assert {job["job_uid"] for snapshot in past["snapshots"] for job in snapshot["job_progress"]} == {uid}


@pytest.mark.needs_root
def test_an_id_that_only_other_users_have_is_refused_if_it_is_not_unique(daemon, children):
	for uid in (NOBODY, NOBODY - 1):
		worker = children.spawn(["sleep", "3003"], user=uid, group=uid, extra_groups=[])
		daemon.result("job.start", uid=uid, job_id="theirs", pid=worker.pid)
		daemon.wait_ticks()
		done = daemon.proctor("top", "--json", "--once", "--job", "theirs")
		if uid == NOBODY:
			assert [p["pid"] for p in json.loads(done.stdout)["processes"]] == [worker.pid]
	for form in (["--json"], [], ["--json", "--history", "1h"]):
		done = daemon.proctor("top", "--once", "--job", "theirs", *form)
		assert done.returncode == 1 and "'theirs' could be any of 2 jobs" in done.stderr and "USER:JOB" in done.stderr, done


@pytest.mark.needs_root
def test_processes_and_progress_name_the_user_of_the_job(twins):
	answer = twins.result("daemon.top")
	found = {p["pid"]: (p["job_id"], p["job_uid"]) for p in answer["processes"] if p["job_id"]}
	assert {pid: found[pid] for pid in twins.pids.values()} == {pid: ("train", uid) for uid, pid in twins.pids.items()}
	assert sorted((job["job_id"], job["job_uid"]) for job in answer["job_progress"]) == [("train", 0), ("train", NOBODY)]
	assert not any("job_uid" in p for p in answer["processes"] if p["job_id"] is None)


def test_without_a_terminal_it_explains_what_to_do(alone):
	done = alone("top")
	assert done.returncode == 2
	assert "--once" in done.stderr and "--json" in done.stderr
	done = alone("top", "--history", "1h", "--once")
	assert done.returncode == 3 and "no store at" in done.stderr and "proctor run" in done.stderr


def test_a_stream_goes_on_with_the_next_daemon(daemon, children):
	stream = children.spawn([daemon.proctor.binary, "top", "--json"], env=daemon.proctor.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
	first = json.loads(stream.stdout.readline())["daemon_pid"]
	daemon.stop()
	assert "the daemon is gone" in stream.stderr.readline()
	daemon.start()
	assert wait_for(lambda: json.loads(stream.stdout.readline())["daemon_pid"] not in (first, None), step=0)
	stream.terminate()
	stream.wait(timeout=60)


def test_the_timeline_keeps_marks_and_deaths_in_a_storm_of_processes(daemon):
	script = "%s mark epoch n=1; i=0; while [ $i -lt 150 ]; do true | true; i=$((i+1)); done; sleep 9 & kill -9 $!; wait $!; exit 0"
	assert daemon.proctor("run", "--job-id", "storm", "--", "sh", "-c", script % daemon.proctor.binary).returncode == 0
	def screen():
		text = top(daemon.proctor, "--once", "--width", "120", "--height", "44")
		return "died of SIGKILL" in text and text
	assert re.search(r'mark +storm +epoch \{"n":1\}', wait_for(screen))


def test_the_host_ends_with_its_reader(alone, children):
	stream = children.spawn([alone.binary, "top", "--json", "--interval", "0.2"], env=alone.env, stdout=subprocess.PIPE, text=True)
	host = json.loads(stream.stdout.readline())["daemon_pid"]
	stream.kill()
	stream.wait(timeout=60)
	wait_for(lambda: not os.path.exists("/proc/%d" % host))


def test_a_plain_user_samples_too():
	with running_as_nobody() as nobody:
		done = nobody("top", "--once", "--own", "--width", "100", "--height", "24")
		assert done.returncode == 0, done.stderr
		assert "own sampling" in done.stdout.splitlines()[0] and "in no job" in done.stdout


def test_only_the_screen_loads_ncurses(alone):
	needed = subprocess.run(["readelf", "-d", alone.binary], check=True, stdout=subprocess.PIPE, text=True).stdout
	assert "NEEDED" in needed and "ncurses" not in needed and "tinfo" not in needed
