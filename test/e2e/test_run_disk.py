# SPDX-License-Identifier: MIT
"""`proctor run` when the record finds no place: the job is left alone, what is lost is reported once, and nothing points to what is not there."""
import contextlib
import json
import re
import resource
import signal
import sqlite3
import subprocess
import sys

import pytest

from runkit import store_locked

# In a mount namespace of its own: a small disk for the state, and what the command of the story does with it.
SMALL_DISK = r"""
import json, os, subprocess, sys
place, size, binary, options, command = *sys.argv[1:4], json.loads(sys.argv[4]), sys.argv[5]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "none", place], check=True)
env = {**os.environ, "SMALL": place, "PROCTOR": binary}
def run(*line):
	done = subprocess.run([binary, *line, "--state-dir", place + "/state"], env=env, capture_output=True, text=True, timeout=50)
	return [done.returncode, done.stdout, done.stderr]
done = subprocess.run([binary, "run", "--state-dir", place + "/state", *options, "--", "sh", "-c", command], env=env, capture_output=True,
		      text=True, timeout=50)
if os.path.exists(place + "/ballast"):
	os.unlink(place + "/ballast")
answers = {"run": [done.returncode, done.stdout, done.stderr], "ls": run("ls", "--json"), "report": run("report")}
json.dump(answers, sys.stdout)
"""
STORM = "i=0; while [ $i -lt 1500 ]; do /bin/true; i=$((i+1)); done; echo out; echo err >&2; exit 7"
RECORDED = 'until "$PROCTOR" ls --json --state-dir "$SMALL/state" 2>&1 | grep -q running; do sleep 0.1; done; '
FILL = "dd if=/dev/zero of=$SMALL/ballast bs=4k oflag=append conv=notrunc 2>/dev/null; "


def on_small_disk(run, place, command, size="1m", options=("--summary",)):
	place.mkdir(exist_ok=True)
	line = ["unshare", "-m", sys.executable, "-c", SMALL_DISK, str(place), size, run.proctor.binary, json.dumps(list(options)), command]
	done = run.bare(*line)
	assert done.returncode == 0, done.stderr
	answers = json.loads(done.stdout)
	return answers["run"], answers["ls"], answers["report"]


def warnings(stderr):
	return [line for line in stderr.splitlines() if line.startswith("proctor: ")]


# ---- a disk that fills -------------------------------------------------------------------------


@pytest.mark.needs_root
def test_a_disk_that_we_fill_costs_no_more_than_the_block_states(run, tmp_path):
	ended, listed, report = on_small_disk(run, tmp_path / "small", STORM)
	assert ended[:2] == [7, "out\n"]
	shown = warnings(ended[2])
	assert len(shown) == 1 and "not storing" in shown[0] and "full" in shown[0], ended[2]
	assert "\nerr\n" in "\n" + ended[2]
	assert re.search(r"\n  procs   1,501 started, 1 failed, none left behind +exact\n", ended[2]), ended[2]
	record = re.search(r"\n  record  (incomplete|not stored): .*full\n", ended[2])
	more = re.search(r"\n  more    proctor why (\S+) --state-dir (\S+)\n", ended[2])
	assert record, ended[2]
	jobs = json.loads(listed[1])["jobs"]
	if record.group(1) == "not stored":  # not even the end found room: then no message points to it
		assert not more and all(job["status"] not in ("completed", "failed") for job in jobs), (ended[2], jobs)
		return
	assert more and more.group(2) == str(tmp_path / "small/state"), ended[2]
	job, = jobs
	assert (job["job_id"], job["exit_code"], job["status"], job["figures"]["processes"]) == (more.group(1), 7, "failed", 1501)
	assert report[0] == 0 and "1,501 started" in report[1], report[1]
	assert re.search(r"\n  record  incomplete: [\d,]+ events lost, ", ended[2]), ended[2]
	# The row of the job has it where the gap found no room beside it.
	assert re.search(r"Watched by .*, \d+ events not stored\n|  lost +[\d,]+ events: not stored", report[1]), report[1]


@pytest.mark.needs_root
def test_a_disk_that_others_fill_leaves_a_job_whose_end_is_not_recorded(run, tmp_path):
	ended, listed, report = on_small_disk(run, tmp_path / "small", RECORDED + FILL + STORM.replace("echo out", FILL + "echo out"), size="8m")
	assert ended[:2] == [7, "out\n"]
	shown = warnings(ended[2])
	assert len(shown) == 1 and "not storing" in shown[0] and "full" in shown[0], ended[2]
	assert re.search(r"\n  procs   1,\d\d\d started", ended[2]), ended[2]
	assert re.search(r"\n  record  not stored: .*full\n", ended[2]), ended[2]
	assert "\n  more  " not in ended[2]
	job, = json.loads(listed[1])["jobs"]
	assert (job["status"], job["exit_code"]) == ("lost", None)
	assert "end not recorded" in report[1]


@pytest.mark.needs_root
@pytest.mark.parametrize("options, lines", [((), 1), (("--summary",), 1), (("--quiet",), 1)])
def test_a_disk_that_is_full_from_the_start_is_reported_once(run, tmp_path, options, lines):
	small = tmp_path / "small"
	small.mkdir()
	ended, listed, report = on_small_disk(run, small, "echo out; exit 7", size="64k", options=options)
	assert ended[:2] == [7, "out\n"]
	# A warning when it is noticed, if the job still runs then, and a line of the end block.
	assert "\n  more  " not in ended[2] and ended[2].count("disk is full") <= 1 + ("--summary" in options), ended[2]
	if "--summary" in options:
		assert re.search(r"\n  record  not stored: .*full\n", ended[2]), ended[2]
	else:
		assert len(warnings(ended[2])) == len(ended[2].splitlines()) == lines, ended[2]
	assert listed[0] != 0 and report[0] != 0


@pytest.mark.needs_root
def test_a_run_folder_elsewhere_has_all_that_the_store_has_not(run, tmp_path):
	out = tmp_path / "out"
	ended, _, _ = on_small_disk(run, tmp_path / "small", STORM, size="64k", options=["--out", out.as_posix()])
	assert ended[:2] == [7, "out\n"]
	assert len(warnings(ended[2])) == 1, ended[2]
	assert "no store" not in ended[2]
	summary = json.loads((out / "summary.json").read_text())
	assert summary["figures"]["processes"] == {"value": 1501, "quality": "exact"}
	assert "FAILED: exit 7" in (out / "report.txt").read_text()


@pytest.mark.needs_root
def test_a_run_folder_on_the_full_disk_is_reported_once_too(run, tmp_path):
	small = tmp_path / "small"
	ended, _, _ = on_small_disk(run, small, "sleep 0.3; " + FILL + STORM, size="1m", options=["--out", (small / "out").as_posix()])
	assert ended[:2] == [7, "out\n"]
	shown = warnings(ended[2])
	assert len(shown) == 2 and any("run folder" in line for line in shown) and any("storing" in line for line in shown), ended[2]


# ---- a state directory that goes or was never there --------------------------------------------


@pytest.mark.parametrize("before, after", [("", ""), ("sleep 0.8; ", "sleep 0.6; /bin/true; ")], ids=["at-once", "in-the-midst"])
def test_a_state_directory_that_vanishes_is_made_anew(run, before, after):
	vanish = 'mv "$PROCTOR_STATE_DIR" "$PROCTOR_STATE_DIR.gone"; rm -rf "$PROCTOR_STATE_DIR.gone"; '  # at one moment
	done = run("sh", "-c", before + vanish + after + "echo out; exit 5", options=["--summary"])
	assert (done.returncode, done.stdout) == (5, "out\n"), done.stderr
	shown = warnings(done.stderr)
	# One line, or three when a tick came in the midst of it and could not begin anew at once.
	assert len(shown) in (1, 3) and all("removed" in line or "storing again" in line for line in shown), done.stderr
	job = run.job()
	assert (job["exit_code"], job["status"]) == (5, "failed")
	assert "proctor why %s" % job["job_id"] in done.stderr


@pytest.mark.needs_root
def test_a_state_directory_that_cannot_be_made_anew_is_reported_once(as_nobody):
	story = 'sleep 0.8; rm -rf "$PROCTOR_STATE_DIR"; : > "$PROCTOR_STATE_DIR"; sleep 0.8; echo out; exit 5'
	done = as_nobody("run", "--summary", "--", "sh", "-c", story)
	assert (done.returncode, done.stdout) == (5, "out\n"), done.stderr
	shown = warnings(done.stderr)
	assert len(shown) == 1 and "not storing" in shown[0], done.stderr
	assert re.search(r"\n  record  not stored: ", done.stderr) and "\n  more  " not in done.stderr


@pytest.mark.needs_root
@pytest.mark.parametrize("options", [[], ["--summary"]], ids=["plain", "summary"])
def test_a_state_directory_that_cannot_be_written_costs_the_record_only(as_nobody, tmp_path, options):
	closed = tmp_path / "closed"
	closed.mkdir(mode=0o755)
	for path in (tmp_path, tmp_path.parent):
		path.chmod(0o755)
	for place in (closed, closed / "deeper"):
		done = as_nobody("run", "--state-dir", place, *options, "--", "sh", "-c", "echo out; exit 5")
		assert (done.returncode, done.stdout) == (5, "out\n"), done.stderr
		assert done.stderr.count("Permission denied") == 1 and "unrecorded" in done.stderr, done.stderr
		assert ("  record  not stored" in done.stderr) == bool(options), done.stderr
		assert "\n  more  " not in done.stderr


@pytest.mark.parametrize("most", [0, 4096, 100 << 10])
def test_files_that_may_not_grow_cost_the_record_only(run, most):
	done = run("sh", "-c", "echo out; exit 5", options=["--summary"], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
	assert (done.returncode, done.stdout) == (5, "out\n"), done.stderr
	assert "  record  not stored: " in done.stderr and "\n  more  " not in done.stderr, done.stderr


# ---- nothing to watch with ---------------------------------------------------------------------


UNWATCHED = 12  # files, of which nothing can be watched


def few_files(most):
	return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@pytest.mark.parametrize("most", [40, 30, 24, 20, 18, 16, 14, 12, 8, 6])
@pytest.mark.tier()  # what can be opened
def test_few_files_do_not_keep_the_command_from_running(run, most):
	story = ["sh", "-c", "echo out; ulimit -n; exit 3"]
	done = run(*story, preexec_fn=few_files(most))
	assert (done.returncode, done.stdout) == (3, "out\n%d\n" % most), done.stderr
	if not run.is_recorded():
		assert warnings(done.stderr) and warnings(done.stderr) == done.stderr.splitlines(), done.stderr
	if most <= UNWATCHED:
		assert "Too many open files" in done.stderr
		assert len(warnings(done.stderr)) == 1 and "unrecorded" in done.stderr, done.stderr


def test_an_unwatched_command_is_what_it_is_without_us(run):
	for command, end in ((["sh", "-c", "kill -TERM $$"], -signal.SIGTERM), (["no-such-command-here"], 127), (["/"], 126)):
		assert run(*command, preexec_fn=few_files(UNWATCHED)).returncode == end
	describe = ["sh", "-c", "grep -E '^(Sig[BICP]|Shd)' /proc/self/status; env | grep PROCTOR_JOB_ID; ls /proc/$$/fd; cat /proc/$$/task/$$/children"]
	bare, ours = (start(*describe, preexec_fn=few_files(UNWATCHED)) for start in (run.bare, run))
	assert ours.stdout.splitlines()[:-1] == bare.stdout.splitlines()[:-1]


@pytest.mark.needs_root
def test_no_process_for_us_is_one_for_the_command(as_nobody):
	done = as_nobody("run", "--", "/bin/echo", "out", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (0, 0)))
	assert (done.returncode, done.stdout) == (0, "out\n"), done.stderr
	assert len(warnings(done.stderr)) == 1 and "unrecorded" in done.stderr, done.stderr


def test_limits_that_cannot_be_held_for_want_of_files_refuse_the_command(run):
	done = run("echo", "out", options=["--time", "10"], preexec_fn=few_files(UNWATCHED))
	assert (done.returncode, done.stdout) == (125, "")
	assert "Too many open files" in done.stderr


def test_an_id_that_cannot_be_claimed_is_not_taken_from_another_job(run):
	assert run("true", options=("--job-id", "x")).returncode == 0
	with store_locked(run.proctor.state_dir):
		held = subprocess.Popen(run.line("sh", "-c", "exit 3", options=("--job-id", "x")), env=run.env, text=True,
					stderr=subprocess.PIPE)
		line = held.stderr.readline()  # after the time that a claim may take
	assert held.wait(timeout=40) == 3
	held.stderr.close()
	assert "id x could not be claimed" in line, line
	assert run.job("job_id = 'x'")["exit_code"] == 0
	assert run.job("job_id LIKE 'x-%'")["exit_code"] == 3


def test_a_store_that_does_not_answer_holds_up_the_command_for_a_moment_only(run):
	assert run("true", options=("--name", "first")).returncode == 0
	with store_locked(run.proctor.state_dir):
		held = subprocess.Popen(run.line("sh", "-c", "echo; sleep 0.2"), env=run.env, text=True, stdout=subprocess.PIPE)
		assert held.stdout.readline() == "\n"
		assert run.jobs("type <> 'first'") == []
	assert held.wait(timeout=40) == 0
	held.stdout.close()
	assert run.job("type <> 'first'")["status"] == "completed"
	events = [event["details"] for event in map(json.loads, run.proctor("events", "--json", "last").stdout.splitlines())]
	assert any("before its job was stored" in str(details) for details in events), events


# ---- many short runs -----------------------------------------------------------------------------


def test_the_log_of_the_store_does_not_grow_with_the_number_of_short_runs(run):
	"""Each run reads the whole log when it opens the store: it must not become slower with each."""
	log = run.proctor.state_dir / "proctor.db-wal"
	for _ in range(30):
		assert run("/bin/true").returncode == 0
	assert log.stat().st_size < 1.5 * 2**20
	assert len(run.jobs()) == 30


# ---- a store of a newer version ----------------------------------------------------------------


def set_schema(run, version=None):
	"""The version it had."""
	with contextlib.closing(sqlite3.connect(run.proctor.state_dir / "proctor.db")) as db:
		before = db.execute("PRAGMA user_version").fetchone()[0]
		if version is not None:
			db.execute("PRAGMA user_version=%d" % version)
	return before


def test_beside_a_newer_store_the_block_points_to_the_side_store_until_the_import(run):
	assert run("true").returncode == 0
	ours = set_schema(run, 999)
	ended = run("sh", "-c", "exit 3", options=("--summary", "--job-id", "beside"))
	assert ended.returncode == 3
	side = run.proctor.state_dir / ("side-v%d" % ours)
	assert re.search(r"\n  record  in '%s/proctor.db' until it can be imported\n" % side, ended.stderr.replace("\n          ", " ")), ended.stderr
	more = re.search(r"\n  more    proctor (why beside --state-dir %s)\n" % side, ended.stderr)
	assert more, ended.stderr
	assert "beside" in run.proctor(*more.group(1).split()).stdout
	set_schema(run, ours)
	assert run("true", options=("--quiet",)).returncode == 0
	assert "beside" in run.proctor("report", "beside").stdout and not side.exists()
