# SPDX-License-Identifier: MIT
"""`run --syscalls` where BPF is not allowed: strace counts, and the job is none the worse for it, whatever becomes of strace."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import wait_for
from runkit import NOBODY, PROG_DIR, Plain, children_of, command_of, state_of

CALLS = str(PROG_DIR / "calls")
SLOW = "counting system calls by strace: each takes about 100 times as long"
STRACE = ["--syscalls", "--no-bpf"]

pytestmark = [pytest.mark.tier("connector"), pytest.mark.needs_root]


def stored(run, table="job", where="1"):
	"""{name: [calls, ns, {error: calls}]} of the only row."""
	row, = run.sql(f"SELECT syscalls FROM {table} WHERE {where}")
	return json.loads(row["syscalls"] or "{}")


def strace_of(launcher):
	"""The strace that counts for it, once it is there."""
	keeper, = wait_for(lambda: children_of(launcher.pid, "proctor-trace"))
	return wait_for(lambda: children_of(keeper, "strace"))[0]


def tracer_of(pid):
	return int(re.search(r"^TracerPid:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"), re.M).group(1))


@pytest.fixture
def start(run, children):
	"""A job that strace counts."""

	def spawn(*command):
		launcher = children.spawn(run.line(*command, options=STRACE), env=run.env, stderr=subprocess.PIPE, text=True)
		return launcher, command_of(launcher)

	return spawn


@pytest.fixture
def count(run):
	def take(*command):
		done = run(*command, options=STRACE)
		assert done.returncode == 0, done.stderr
		return stored(run)

	return take


# ---- what is counted -----------------------------------------------------------------------------


def test_threads_errors_and_old_calls_are_counted_as_by_bpf(run):
	for kind, n in (("threads", 50), ("fail", 70), ("ia32", 30), ("strange", 2), ("exec", 10)):
		assert run(CALLS, kind, n, options=[*STRACE, "--name", kind]).returncode == 0
	calls = {row["type"]: json.loads(row["syscalls"]) for row in run.sql("SELECT type, syscalls FROM job")}
	assert calls["threads"]["getppid"][0] == 8 * 50
	assert calls["fail"]["close"][2] == {"EBADF": 70}
	assert calls["ia32"]["getppid"][0] == 30
	assert {name: calls["strange"][name][2] for name in calls["strange"] if name.startswith("syscall_")} == \
		{f"syscall_{nr}": {"ENOSYS": 2} for nr in range(900, 1000)}
	assert (calls["exec"]["getppid"][0], calls["exec"]["execve"][0], calls["exec"]["exit_group"][0]) == (10, 2, 1)
	for row in run.sql("SELECT type, syscalls FROM process JOIN (SELECT id AS job, type FROM job) USING (job)"):
		assert json.loads(row["syscalls"]) == calls[row["type"]]  # one process each: its threads are counted with it


def test_each_child_has_calls_of_its_own(count, run):
	calls = count(CALLS, "spawn", 8)
	rows = [json.loads(row["syscalls"]) for row in run.processes()]
	assert [row["execve"][0] for row in rows] == [1] * 9
	assert ["getppid" in row or "vfork" in row or "clone" in row or "clone3" in row for row in rows] == [True] + [False] * 8
	assert (calls["execve"][0], calls["exit_group"][0]) == (9, 9)


@pytest.mark.parametrize("command", [["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=300"],
                                     ["sh", "-c", "ls / | sort | head -3 >/dev/null; cat /nonexistent 2>/dev/null || true"]], ids=["dd", "sh"])
def test_a_plain_user_counts_what_strace_counts(as_nobody, run, command):
	plain = Plain(as_nobody)
	done = plain(*command, options=["--syscalls"])
	assert done.returncode == 0
	assert done.stderr.count(SLOW) == 1
	calls = {name: (c[0], sum(c[2].values()) if len(c) > 2 else 0) for name, c in stored(plain).items()}
	table = run.bare("strace", "-f", "-c", "-U", "calls,errors,name", *command).stderr
	expected = {name: (int(n), int(errors or 0)) for n, errors, name in re.findall(r"^ *(\d+) +(\d+)? +(\w+)$", table, re.M) if name != "total"}
	assert calls.pop("exit_group")[0] >= 1  # it never returns, and strace leaves it out
	for name in ("wait4", "rt_sigreturn", "read"):  # depend on which process ends first in a pipeline
		calls.pop(name, None), expected.pop(name, None)
	assert calls == expected
	assert "strace" in plain.job()["tier"]
	report = json.loads(as_nobody("report", "--json").stdout)
	assert report["quality"]["syscall_hotspots"] == "at_most"
	shown = json.loads(as_nobody("syscalls", "--json").stdout)
	assert (shown["quality"], shown["time_quality"]) == ("exact", "at_most")


def test_a_call_that_never_returns_is_counted_with_the_time_it_took(run, start):
	launcher, command = start(CALLS, "block", 0)
	wait_for(lambda: run.is_recorded() and stored(run).get("pause", [0, 0])[1] > 2e8)
	os.kill(command, signal.SIGKILL)
	assert launcher.wait() == -signal.SIGKILL
	calls = stored(run)
	assert calls["pause"][0] == 1
	assert 2e8 < calls["pause"][1] < run.job()["duration_seconds"] * 1e9


def test_sheets_have_the_calls_of_their_processes(run):
	done = run("sh", "-c", f"{run.proctor.binary} sheet 1 -- {CALLS} ask 40; {CALLS} ask 2", options=STRACE)
	assert done.returncode == 0, done.stderr
	assert stored(run)["getppid"][0] >= 42
	assert stored(run, "sheet")["getppid"][0] == 41  # one by the helper of `proctor sheet`


# ---- the job is none the worse -------------------------------------------------------------------


def test_a_plain_users_job_ends_as_it_would_without_strace(as_nobody):
	plain = Plain(as_nobody)
	for script, status in (("exit 7", 7), ("kill -SEGV $$", -signal.SIGSEGV), ("kill -TERM $$", -signal.SIGTERM), ("sh -c 'kill -KILL $PPID'", -signal.SIGKILL)):
		assert plain("sh", "-c", script, options=["--syscalls"]).returncode == status
	done = plain("/no/such/command", options=["--syscalls"])
	assert done.returncode == 127
	assert "/no/such/command" in done.stderr
	assert [row["exit_code"] for row in plain.jobs()] == [7, None, None, None, 127]


def test_a_plain_users_job_stops_and_goes_on_and_is_signalled_once(as_nobody, children):
	line = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", str(as_nobody.place / "proctor"), "run", "--syscalls", "--"]
	script = "trap 'echo USR1' USR1; echo ready; for i in $(seq 2000); do sleep 0.02; done"
	# Not bash: a SIGTERM that comes while its trap runs may end it with status 0.
	launcher = children.spawn([*line, "sh", "-c", script], env={**as_nobody.env, "ASAN_OPTIONS": "detect_leaks=0"}, cwd=as_nobody.place,
				  stdout=subprocess.PIPE, text=True)
	command = command_of(launcher)
	assert launcher.stdout.readline() == "ready\n"
	for _ in range(2):
		os.kill(command, signal.SIGSTOP)
		wait_for(lambda: state_of(launcher.pid) == "T" and state_of(command) == "t")
		launcher.send_signal(signal.SIGCONT)
		wait_for(lambda: state_of(launcher.pid) != "T" and state_of(command) not in "Tt")
	os.killpg(launcher.pid, signal.SIGUSR1)
	assert launcher.stdout.readline() == "USR1\n"
	launcher.send_signal(signal.SIGTERM)
	assert launcher.stdout.read() == ""
	assert launcher.wait() == -signal.SIGTERM


def test_a_job_whose_strace_is_killed_goes_on_and_it_is_reported(run, start, tmp_path):
	go = tmp_path / "go"
	launcher, command = start("sh", "-c", f"while ! [ -e {go} ]; do sleep 0.05; done; exit 5")
	wait_for(lambda: run.is_recorded() and stored(run))
	os.kill(strace_of(launcher), signal.SIGKILL)
	wait_for(lambda: tracer_of(command) == 0)
	go.touch()
	assert launcher.wait() == 5
	assert "system calls are not counted any more: strace was killed" in launcher.stderr.read()
	report = json.loads(run.proctor("report", "--json").stdout)
	assert report["quality"]["syscall_hotspots"] == "sampled"  # fewer calls, and slower ones
	assert "some calls were not counted" in run.proctor("syscalls").stdout


@pytest.mark.parametrize("program", ["strace", "keeper"])
def test_a_strace_that_was_stopped_does_not_stop_the_job(start, program):
	launcher, _ = start("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done; exit 6")
	strace = strace_of(launcher)
	os.kill(strace if program == "strace" else children_of(launcher.pid, "proctor-trace")[0], signal.SIGSTOP)
	assert launcher.wait(timeout=30) == 6


def test_a_recorder_that_does_not_read_holds_up_the_job_for_a_moment_only(start, tmp_path):
	done = tmp_path / "done"
	launcher, command = start("sh", "-c", f"dd if=/dev/zero of=/dev/null bs=1 count=40000 2>/dev/null; echo > {done}; exit 4")
	strace_of(launcher)
	launcher.send_signal(signal.SIGSTOP)
	wait_for(done.exists)
	wait_for(lambda: state_of(command) == "Z")
	launcher.send_signal(signal.SIGCONT)
	assert launcher.wait() == 4


@pytest.mark.parametrize("also", ["", "proctor-trace"], ids=["recorder", "with its helper"])
def test_nothing_stays_attached_when_the_recorder_is_killed(start, tmp_path, also):
	done = tmp_path / "done"
	launcher, command = start("sh", "-c", f"while ! [ -e {tmp_path}/go ]; do sleep 0.05; done; echo > {done}")
	strace = strace_of(launcher)
	victims = [*(children_of(launcher.pid, also) if also else []), launcher.pid]
	for pid in victims:
		os.kill(pid, signal.SIGKILL)
	launcher.wait()
	wait_for(lambda: tracer_of(command) == 0 and not Path(f"/proc/{strace}").exists())
	(tmp_path / "go").touch()
	wait_for(done.exists)


def test_processes_that_are_left_behind_are_let_go(run, tmp_path):
	pid_file = tmp_path / "pid"
	done = run("sh", "-c", f"sleep 30 >/dev/null 2>&1 & echo $! > {pid_file}; until grep -q sleep /proc/$!/comm; do :; done; exit 2", options=STRACE)
	assert done.returncode == 2, done.stderr
	left = int(pid_file.read_text(encoding="ascii"))
	assert (tracer_of(left), state_of(left)) == (0, "S")
	os.kill(left, signal.SIGKILL)
	assert stored(run)["execve"][0] >= 2


# ---- where it cannot count -----------------------------------------------------------------------


def test_a_command_that_has_a_tracer_runs_uncounted(run):
	done = run.bare("strace", "-f", "-o", "/dev/null", *run.line("sh", "-c", "exit 3", options=STRACE))
	assert done.returncode == 3
	assert re.search(r"system calls are not counted: process \d+ \(.*\) is already traced, by strace", done.stderr)
	assert run.job()["syscall_count"] is None


def test_without_strace_it_is_reported_and_nothing_is_zero(as_nobody):
	plain = Plain(as_nobody, before=["env", "PATH=/nonexistent"])
	done = plain("/bin/true", options=["--syscalls"])
	assert done.returncode == 0
	assert re.search("system calls are not counted: BPF needs .*; strace is not installed", done.stderr)
	assert (plain.job()["syscall_counts"], plain.job()["syscall_count"]) == ("{}", None)


@pytest.mark.needs_root
def test_a_call_that_has_not_returned_when_counting_ends_has_no_count_and_is_shown(as_nobody, children):
	waiting = children.python("import signal\nprint(flush=True)\nsignal.pause()", stdout=subprocess.PIPE, user=65534, group=65534, extra_groups=[])
	waiting.stdout.readline()
	wait_for(lambda: state_of(waiting.pid) == "S")
	answer = json.loads(as_nobody("syscalls", waiting.pid, "--for", "0.5s", "--json").stdout)
	assert answer["syscalls"]["pause"]["count"] == 0 and answer["syscalls"]["pause"]["time_pct"] > 99, answer
	assert (answer["quality"], answer["time_quality"]) == ("exact", "sampled")
	assert [(b["pid"], b["call"]) for b in answer["blocked"]] == [(waiting.pid, "pause")]
	assert "Waiting now" in as_nobody("syscalls", waiting.pid, "--for", "0.2s").stdout
