# SPDX-License-Identifier: MIT
"""sheet, mark and phase: called from within a job, they report to it and leave the command as it is; outside of one the command
runs all the same."""
import os
import signal
import socket
import subprocess
import time

import pytest

from conftest import wait_for
from door import Job


@pytest.fixture
def job(state_dir):
	running = Job(state_dir)
	yield running
	running.end()


def test_a_sheet_is_opened_by_its_runner_and_closed_at_the_end(proctor, job):
	done = proctor("sheet", "2/5", "--label", "train", "--", "sh", "-c", "echo $PPID $PROCTOR_SHEET", env=job.env())
	assert (done.returncode, done.stderr) == (0, "")
	pid, num = done.stdout.split()
	assert job.heard() == "begin 2/5 'train' pid %s" % pid
	assert job.heard() == "end 2 completed code 0 signal 0"
	assert num == "2"


def test_a_sheet_without_a_number_is_the_next_one(proctor, job):
	for num in ("1", "2"):
		done = proctor("sheet", "sh", "-c", "echo $PROCTOR_SHEET", env=job.env())
		assert done.stdout == num + "\n"


@pytest.mark.parametrize("script, status, reported", [
	("exit 7", 7, "end 1 failed code 7 signal 0"),
	("kill -9 $$", -9, "end 1 failed code -1 signal 9"),
	("kill -SEGV $$", -11, "end 1 failed code -1 signal 11"),
	("kill -PIPE $$", -13, "end 1 failed code -1 signal 13"),
])
def test_the_end_of_the_command_is_the_end_of_the_sheet(proctor, job, script, status, reported):
	done = proctor("sheet", "sh", "-c", script, env=job.env())
	assert (done.returncode, done.stderr) == (status, "")
	job.heard()
	assert job.heard() == reported


@pytest.mark.parametrize("verb", [["sheet"], ["phase", "x"]])
def test_what_cannot_be_run_is_126_and_127(proctor, job, verb, tmp_path):
	plain = tmp_path / "plain"
	plain.write_text("not a program")
	for command, status in (("/no/such/command", 127), (plain, 126)):
		done = proctor(*verb, "--", command, env=job.env())
		assert done.returncode == status
		assert done.stderr.startswith("proctor: %s: " % command) and done.stderr.count("\n") == 1
		if verb[0] == "phase":
			assert job.heard().endswith('{"exit_code":%d}' % status)


@pytest.mark.parametrize("verb", [["sheet", "1"], ["phase", "x"]])
def test_outside_of_a_job_the_command_runs_with_one_line_of_warning(proctor, verb):
	done = proctor(*verb, "--", "sh", "-c", "echo out; exit 3")
	assert (done.returncode, done.stdout) == (3, "out\n")
	assert done.stderr.count("\n") == 1 and "not in a job" in done.stderr


def test_outside_of_a_job_a_mark_is_not_found(proctor, state_dir):
	done = proctor("mark", "x")
	assert done.returncode == 3 and "PROCTOR_JOB_ID is not set" in done.stderr
	done = proctor("mark", "x", env={"PROCTOR_JOB_ID": "gone"})
	assert done.returncode == 3
	assert done.stderr == ("proctor: job 'gone': no door at %s/jobs/gone/sock: the job has ended, or its state directory was removed\n"
			       % state_dir)
	done = proctor("mark", "x", env={"PROCTOR_JOB_ID": "../../etc"})
	assert done.returncode == 3 and str(state_dir) not in done.stderr


@pytest.mark.parametrize("args", [
	["sheet", "3/2", "--", "true"], ["sheet", "0", "--", "true"], ["sheet", "x", "--", "true"], ["sheet", "1/0", "true"],
	["sheet", "0", "true"], ["sheet", "3/2", "true"], ["sheet", "1/", "true"], ["sheet", "/", "true"], ["sheet", "1000001", "true"],
	["sheet", "99999999999999999999", "true"], ["sheet", "3"], ["sheet"], ["sheet", "--label"], ["sheet", "--labl", "x", "true"],
	["mark"], ["mark", ""], ["mark", "x" * 129], ["mark", "x", "novalue"], ["mark", "x", "=1"], ["mark", "x", "a=1", "a=2"],
	["mark", "x", "a=" + "y" * 17000],
	["phase"], ["phase", "x"], ["phase", "x", "--"], ["phase", "x", "a=1"], ["phase", "", "true"], ["phase", "x", "a=1", "a=2", "--", "true"],
], ids=lambda args: " ".join(args)[:40])
def test_wrong_usage_is_status_2_and_nothing_runs(proctor, job, args):
	done = proctor(*args, env=job.env())
	assert (done.returncode, done.stdout) == (2, "")
	assert done.stderr.startswith("proctor: %s: " % args[0]) and done.stderr.count("\n") == 1
	assert job.end() == []


def test_a_command_with_options_needs_no_dashes(proctor, job):
	assert proctor("sheet", "ls", "-d", "/", env=job.env()).stdout == "/\n"
	assert proctor("sheet", "3", "ls", "-d", "/", env=job.env()).stdout == "/\n"
	assert proctor("phase", "list", "ls", "-d", "/", env=job.env()).stdout == "/\n"


def test_a_mark_keeps_the_types_of_its_values(proctor, job):
	done = proctor("mark", "epoch", "n=3", "loss=0.1", "best=true", "off=false", "note=a b", "none=null", "zero=007", "big=1e999",
		       "eq=a=b", "neg=-2", "sci=1.5e3", "long=123456789012345678901", "empty=", "é=ü", env=job.env())
	assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
	assert job.heard() == ('mark epoch {"n":3,"loss":0.1,"best":true,"off":false,"note":"a b","none":"null","zero":"007",'
			       '"big":"1e999","eq":"a=b","neg":-2,"sci":1500.0,"long":"123456789012345678901","empty":"","é":"ü"}')


def test_a_phase_shows_how_long_its_command_took(proctor, job):
	done = proctor("phase", "load", "rows=10", "--", "sh", "-c", "sleep 0.2; exit 4", env=job.env())
	assert (done.returncode, done.stderr) == (4, "")
	word, name, ms, _, data = job.heard().split(" ")
	assert (word, name, data) == ("phase", "load", '{"rows":10,"exit_code":4}')
	assert 200 <= int(ms) < 2000
	proctor("phase", "load", "exit_code=mine", "--", "false", env=job.env())
	assert job.heard().endswith(' ms {"exit_code":"mine"}')
	proctor("phase", "ok", "--", "true", env=job.env())
	assert job.heard().endswith(" ms {}")


def test_a_door_that_does_not_answer_holds_up_nothing(proctor, state_dir):
	folder = state_dir / "jobs/unresponsive"
	folder.mkdir(parents=True)
	with socket.socket(socket.AF_UNIX) as server:
		server.bind(str(folder / "sock"))
		server.listen(5)
		began = time.monotonic()
		done = proctor("sheet", "--", "sh", "-c", "date +%s.%N", env={"PROCTOR_JOB_ID": "unresponsive"})
		took = time.monotonic() - began
		assert done.returncode == 0 and took < 20
		assert done.stderr.count("\n") == 1 and "does not answer" in done.stderr
		assert proctor("mark", "x", env={"PROCTOR_JOB_ID": "unresponsive"}).returncode == 4


def test_a_job_whose_recorder_died_is_reported_as_such(proctor, state_dir):
	folder = state_dir / "jobs/dead"
	folder.mkdir(parents=True)
	with socket.socket(socket.AF_UNIX) as left:
		left.bind(str(folder / "sock"))
	done = proctor("mark", "x", env={"PROCTOR_JOB_ID": "dead"})
	assert done.returncode == 3 and "job 'dead': its recorder is gone: nothing listens at " in done.stderr


class Running:
	"""A verb whose command prints "up" when it stands, in a session of its own."""

	def __init__(self, children, proctor, job, script):
		self.process = children.spawn([proctor.binary, "sheet", "--", "/usr/bin/python3", "-u", "-c", script], stdout=subprocess.PIPE,
					      text=True, env={**proctor.env, **job.env()})
		self.pid = int(self.read())

	def read(self):
		return self.process.stdout.readline().rstrip("\n")


COUNT = """
import os, signal, time
got = []
for s in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGQUIT, signal.SIGHUP, signal.SIGWINCH):
	signal.signal(s, lambda s, _: print(signal.Signals(s).name))
print(os.getpid())
end = time.monotonic() + 20
while time.monotonic() < end: time.sleep(0.05)
"""


@pytest.mark.parametrize("signo", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGQUIT, signal.SIGHUP, signal.SIGWINCH],
			 ids=lambda s: s.name)
def test_a_signal_reaches_the_command_once(children, proctor, job, signo):
	running = Running(children, proctor, job, COUNT)
	running.process.send_signal(signo)  # to us alone
	assert running.read() == signo.name
	os.killpg(running.process.pid, signo)  # to the whole group
	assert running.read() == signo.name
	time.sleep(0.3)
	os.kill(running.pid, signal.SIGKILL)
	assert running.process.wait(timeout=30) == -signal.SIGKILL
	assert running.read() == ""


def state_of(pid):
	with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
		return file.read().rsplit(")", 1)[1].split()[0]


def test_a_command_that_stops_stops_us_and_goes_on_with_us(children, proctor, job):
	running = Running(children, proctor, job, COUNT)
	os.kill(running.pid, signal.SIGSTOP)
	wait_for(lambda: state_of(running.process.pid) == "T")
	os.kill(running.process.pid, signal.SIGCONT)  # as `fg` does to the group; here to us alone
	wait_for(lambda: state_of(running.pid) != "T")
	wait_for(lambda: state_of(running.process.pid) != "T")
	os.kill(running.pid, signal.SIGKILL)
	running.process.wait(timeout=30)
