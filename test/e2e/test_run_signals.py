# SPDX-License-Identifier: MIT
"""Signals and `proctor run`: each reaches the command once, its stops are ours, and whoever is killed, nobody hangs."""
import ctypes
import os
import signal
import subprocess
import sys
import time

import pytest

from conftest import TIERS
from runkit import SIGNALS, children_of, command_of, state_of, wait_for

LAST = signal.SIGRTMAX
LIBC = ctypes.CDLL(None, use_errno=True)


@pytest.fixture
def start(run, children):
	"""The command behind a launcher that leads a group of its own."""

	def spawn(*command, options=(), **how):
		how.setdefault("stdout", subprocess.PIPE)
		return children.spawn(run.line(*command, options=options), env=run.env, text=True, **how)

	return spawn


@pytest.fixture
def reporter(start):
	"""A launcher whose command reports each signal it gets; both are ready."""
	launcher = start(SIGNALS, int(LAST))
	assert launcher.stdout.readline() == "ready\n"
	return launcher


def reported(launcher):
	"""All signals that the command got until now, as (number, value): the last one passes through us behind the others."""
	launcher.send_signal(LAST)
	lines = launcher.stdout.read().splitlines()
	assert launcher.wait() == 0
	assert lines[-1].split()[0] == str(int(LAST))
	return [(int(line.split()[0]), int(line.split()[2])) for line in lines[:-1]]


# ---- once --------------------------------------------------------------------------------------

PASSED = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGPIPE,
	  signal.SIGWINCH, signal.SIGCONT, signal.SIGTSTP, signal.SIGURG, signal.SIGRTMIN, signal.SIGRTMIN + 5]


def test_a_signal_to_us_alone_reaches_the_command_once(reporter):
	for signo in PASSED:
		reporter.send_signal(signo)
		assert reporter.stdout.readline().split()[0] == str(int(signo))
	assert reported(reporter) == []


@pytest.mark.parametrize("tier", TIERS)
def test_a_signal_that_was_passed_on_is_reported_with_its_original_sender(run, start, tier):
	launcher = start("sleep", 60, options=["--tier", tier])
	command_of(launcher)
	time.sleep(0.1)  # until its exec is behind it
	launcher.send_signal(signal.SIGTERM)
	assert launcher.wait(timeout=30) == -signal.SIGTERM
	rows = run.sql("SELECT details FROM process_events WHERE event_type = 'signal' AND signal_num = 15")
	here = open("/proc/self/comm", encoding="utf8").read().strip()
	assert [row["details"] for row in rows] == ["forwarded by proctor; sent to it by %s (pid %d, uid %d)" % (here, os.getpid(), os.getuid())]
	assert "SIGTERM, forwarded by proctor; sent to it by %s" % here in run.proctor("events").stdout
	assert "to sleep, forwarded by proctor; sent to it by %s" % here in run.proctor("report").stdout


def test_a_signal_to_the_group_reaches_the_command_once(reporter):
	for signo in PASSED:
		os.killpg(reporter.pid, signo)
		assert reporter.stdout.readline().split()[0] == str(int(signo))
	assert reported(reporter) == []


def test_signals_to_both_in_turn_are_distinguished(reporter):
	for turn in range(6):
		if turn % 2:
			os.killpg(reporter.pid, signal.SIGUSR1)
		else:
			reporter.send_signal(signal.SIGUSR1)
		reporter.send_signal(signal.SIGRTMIN)  # behind the other: two of the same that wait would become one
		got = [reporter.stdout.readline().split()[0] for _ in range(2)]
		assert got == [str(int(signal.SIGUSR1)), str(int(signal.SIGRTMIN))]
	assert reported(reporter) == []


def test_a_burst_to_the_group_is_not_multiplied(reporter):
	burst = 40
	for _ in range(burst):
		os.killpg(reporter.pid, signal.SIGUSR1)
	assert 1 <= len(reported(reporter)) <= burst  # the kernel merges those that wait


def test_a_queued_value_comes_along(reporter):
	for value in (7, 8, 2**31 - 1):
		assert LIBC.sigqueue(reporter.pid, int(signal.SIGRTMIN + 1), ctypes.c_void_p(value)) == 0
	assert reported(reporter) == [(signal.SIGRTMIN + 1, value) for value in (7, 8, 2**31 - 1)]


def test_a_command_in_a_group_of_its_own_still_receives_signals(start):
	launcher = start("setsid", SIGNALS, int(LAST))
	assert launcher.stdout.readline() == "ready\n"
	os.killpg(launcher.pid, signal.SIGTERM)
	assert launcher.stdout.readline().split()[0] == str(int(signal.SIGTERM))
	assert reported(launcher) == []


def test_a_command_that_signals_its_group_or_parent_is_not_answered(start):
	script = "trap 'echo caught' TERM; kill -TERM 0; kill -TERM $PPID; kill -TERM $PPID; echo end"
	launcher = start("sh", "-c", script)
	assert launcher.stdout.read() == "caught\nend\n"
	assert launcher.wait() == 0


def test_an_alarm_that_was_set_before_us_ends_the_command(run):
	script = "import os, signal, sys; signal.setitimer(signal.ITIMER_REAL, 0.5); os.execv(sys.argv[1], sys.argv[1:])"
	for line in (["/bin/sleep", "60"], run.line("sleep", "60")):
		done = run.bare(sys.executable, "-c", script, *line)
		assert done.returncode == -signal.SIGALRM


@pytest.mark.parametrize("alone", [True, False], ids=["to us", "to the group"])
def test_no_moment_of_the_start_swallows_a_signal(start, alone):
	for step in range(24):
		launcher = start("sleep", "60")
		time.sleep(step * 0.003)  # not for something to happen: to be somewhere else each time
		if alone:
			launcher.send_signal(signal.SIGTERM)
		else:
			os.killpg(launcher.pid, signal.SIGTERM)
		assert launcher.wait(timeout=30) == -signal.SIGTERM


def test_a_stop_during_the_start_is_only_a_stop(start):
	for step in range(12):
		launcher = start("sh", "-c", "exit 3")
		time.sleep(step * 0.003)
		if launcher.poll() is None:
			os.killpg(launcher.pid, signal.SIGTSTP)
			os.killpg(launcher.pid, signal.SIGCONT)
		assert launcher.wait(timeout=30) == 3


# ---- stopped and continued ---------------------------------------------------------------------


def stopped(*pids):
	return all(state_of(pid) == "T" for pid in pids)


def running(*pids):
	return all(state_of(pid) in ("R", "S", "D") for pid in pids)


@pytest.mark.parametrize("target_name,wakes", [("command", "command"), ("command", "us"), ("command", "group"), ("group", "us"), ("group", "group")])
def test_a_command_that_stops_stops_us_and_goes_on_with_us(start, target_name, wakes):
	launcher = start("sleep", "60")
	command = command_of(launcher)
	wait_for(lambda: running(launcher.pid, command))
	target = {"command": lambda s: os.kill(command, s), "us": launcher.send_signal, "group": lambda s: os.killpg(launcher.pid, s)}
	for _ in range(5):
		target[target_name](signal.SIGSTOP)
		wait_for(lambda: stopped(launcher.pid, command))
		_, status = os.waitpid(launcher.pid, os.WUNTRACED)
		assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGSTOP
		target[wakes](signal.SIGCONT)
		wait_for(lambda: running(launcher.pid, command))
	launcher.send_signal(signal.SIGTERM)
	assert launcher.wait() == -signal.SIGTERM


def test_a_stopped_command_may_be_killed(start):
	launcher = start("sleep", "60")
	command = command_of(launcher)
	os.kill(command, signal.SIGSTOP)
	wait_for(lambda: stopped(launcher.pid, command))
	os.kill(command, signal.SIGKILL)
	assert launcher.wait(timeout=30) == -signal.SIGKILL


def test_we_may_be_stopped_alone_and_miss_nothing(run, start):
	launcher = start("sh", "-c", "read x; %s; exit 4" % "; ".join(["true"] * 3), stdin=subprocess.PIPE)
	command = command_of(launcher)
	launcher.send_signal(signal.SIGSTOP)
	wait_for(lambda: stopped(launcher.pid))
	assert running(command)
	launcher.stdin.write("\n")
	launcher.stdin.flush()
	wait_for(lambda: state_of(command) == "Z")
	launcher.send_signal(signal.SIGCONT)
	assert launcher.wait(timeout=30) == 4
	assert run.job()["exit_code"] == 4


# ---- killed ------------------------------------------------------------------------------------


def test_the_command_outlives_a_launcher_that_is_killed_and_the_job_is_lost(run, start, tmp_path):
	done = tmp_path / "done"
	launcher = start("sh", "-c", "read x; echo over >%s" % done, options=["--name", "victim"], stdin=subprocess.PIPE)
	command = command_of(launcher)
	wait_for(run.is_recorded)
	helpers = children_of(launcher.pid, "proctor-signals")
	launcher.kill()
	assert launcher.wait() == -signal.SIGKILL
	wait_for(lambda: all(state_of(helper) == "" for helper in helpers))
	assert running(command)
	launcher.stdin.write("\n")
	launcher.stdin.flush()
	wait_for(lambda: done.exists() and done.read_text() == "over\n")
	assert run("true", options=["--name", "next"]).returncode == 0
	assert run.job("type = 'victim'")["status"] == "lost"
	assert run.job("type = 'next'")["status"] == "completed"


def test_a_command_that_is_killed_is_reported_as_killed(run, start):
	launcher = start("sleep", "60")
	os.kill(command_of(launcher), signal.SIGKILL)
	assert launcher.wait() == -signal.SIGKILL
	job = run.job()
	assert (job["status"], job["signal_num"], job["exit_code"]) == ("failed", signal.SIGKILL, None)


def test_both_may_be_killed_and_nothing_is_left(run, start):
	launcher = start("sleep", "60")
	command = command_of(launcher)
	wait_for(run.is_recorded)
	helpers = children_of(launcher.pid, "proctor-signals")
	assert len(helpers) == 1
	os.killpg(launcher.pid, signal.SIGKILL)
	assert launcher.wait() == -signal.SIGKILL
	wait_for(lambda: state_of(command) == "" and state_of(helpers[0]) == "")
	assert run("true", options=["--name", "next"]).returncode == 0
	assert run.job("type <> 'next'")["status"] == "lost"


def test_a_process_that_should_end_with_its_parent_does(run, children):
	line = ["setpriv", "--pdeathsig", "KILL", *run.line("sleep", "60")]
	parent = children.python("import subprocess, sys; p = subprocess.Popen(sys.argv[1:]); print(p.pid, flush=True); p.wait()", *line,
				 env=run.env, stdout=subprocess.PIPE)
	launcher = int(parent.stdout.readline())
	command = wait_for(lambda: children_of(launcher, "sleep"))[0]
	parent.kill()
	wait_for(lambda: state_of(launcher) in ("", "Z") and state_of(command) in ("", "Z"))


def test_a_detector_that_was_stopped_alone_does_not_hold_up_the_end(start):
	launcher = start("sleep", 1)
	detector = wait_for(lambda: children_of(launcher.pid, "proctor-signals"))[0]
	os.kill(detector, signal.SIGSTOP)
	assert launcher.wait(timeout=30) == 0


def test_the_record_shows_no_signals_of_our_own(run):
	assert run(run.proctor.binary, "sheet", "true").returncode == 0
	assert run.sql("SELECT * FROM process_events WHERE event_type IN ('signal', 'kill')") == []
