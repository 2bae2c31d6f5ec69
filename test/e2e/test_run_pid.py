# SPDX-License-Identifier: MIT
"""`proctor run --pid`: a process that runs already is watched as a job, from then on."""
import json
import os
import signal
import subprocess
import sys

import pytest

from conftest import wait_for
from runkit import BURN, kernel_thread

# Burns CPU time and holds memory before it is watched, then waits for the gate; afterwards it burns some more, and prints how much.
WORKER = BURN + """
import sys
burn(0.4)
held = bytearray(200 << 20)
del held
print("ready", flush=True)
open(sys.argv[1]).close()
before = cpu()
burn(0.2)
print(cpu() - before, flush=True)
sys.exit(3)
"""


def watch(proctor, pid, *options, **how):
	return subprocess.Popen([proctor.binary, "run", "--job-id", "w", *options, "--pid", str(pid)], env=proctor.env, stdin=subprocess.DEVNULL,
				stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)


def job_of(proctor):
	done = proctor("ls", "--json")
	jobs = json.loads(done.stdout)["jobs"] if done.returncode == 0 else []
	return jobs[0] if jobs else None


def is_watched(proctor):
	return wait_for(lambda: (job_of(proctor) or {}).get("status") == "running")


@pytest.mark.parametrize("tier", ["bpf", "connector"])
@pytest.mark.needs_root
def test_only_what_happens_from_then_on_counts(proctor, children, gate, tier):
	worker = children.python(WORKER, str(gate), stdout=subprocess.PIPE, text=True)
	assert worker.stdout.readline() == "ready\n"
	watcher = watch(proctor, worker.pid, "--tier", tier, "--summary")
	is_watched(proctor)
	gate.open()
	used = float(worker.stdout.readline())
	_, err = watcher.communicate(timeout=60)
	assert (watcher.returncode, worker.wait(60)) == (3, 3)
	job = job_of(proctor)
	assert (job["status"], job["exit_code"]) == ("failed", 3)
	assert used - 0.05 <= job["figures"]["cpu_seconds"] <= used + 0.15
	assert job["figures"]["peak_used_mb"] is None or job["figures"]["peak_used_mb"] < 150
	assert job["figures"]["processes"] == 1
	assert "attached to pid %d" % worker.pid in proctor("report", "w").stdout
	# The row of the process counts its life before, too.
	row, = json.loads(proctor("report", "w", "--json").stdout)["costly_processes"]
	assert row["quality"]["cpu_seconds"] == "at_most"
	assert "%d, already running for " % worker.pid in err and "i/o     not recorded with --pid" in err


@pytest.mark.parametrize("tier", ["bpf", "connector"])
@pytest.mark.needs_root
def test_what_its_descendants_held_before_is_not_its_largest_process(proctor, children, gate, tier):
	"""They held 200 MiB once, and hold some 10 while they are watched."""
	shell = children.spawn(["sh", "-c", '"$@" & wait', "sh", sys.executable, "-c", WORKER, str(gate)], stdout=subprocess.PIPE, text=True)
	assert shell.stdout.readline() == "ready\n"
	watcher = watch(proctor, shell.pid, "--tier", tier, "--summary")
	is_watched(proctor)
	wait_for(lambda: job_of(proctor)["figures"]["processes"] == 2)
	gate.open()
	_, err = watcher.communicate(timeout=60)
	shell.wait(60)
	figures = job_of(proctor)["figures"]
	assert figures["peak_rss_mb"] < 150 and figures["peak_used_mb"] < 60
	rows = json.loads(proctor("report", "w", "--json").stdout)["costly_processes"]
	# Of their whole lives; the shell has used less than a clock tick.
	assert {row["quality"]["cpu_seconds"] for row in rows} <= {"at_most", "sampled", "missing"}, rows
	assert "2 watched" in err and "2 watched" in proctor("report", "w").stdout and "started" not in err, err


def test_its_descendants_are_watched_with_it_old_and_new(proctor, children, gate):
	shell = children.spawn(["sh", "-c", "sleep 60 & read go <%s; for i in 1 2 3; do /bin/true; done; kill $!; wait; exit 0" % gate])
	wait_for(lambda: len(os.listdir("/proc/%d/task" % shell.pid)) and open("/proc/%d/task/%d/children" % (shell.pid, shell.pid)).read().split())
	watcher = watch(proctor, shell.pid)
	is_watched(proctor)
	wait_for(lambda: json.loads(proctor("ls", "--json").stdout)["jobs"][0]["figures"]["processes"] == 2)
	gate.open()
	_, err = watcher.communicate(timeout=60)
	assert (watcher.returncode, shell.wait(60)) == (0, 0), err
	assert job_of(proctor)["figures"]["processes"] == 5


@pytest.mark.parametrize("signo", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_watching_and_not_the_process(proctor, children, signo):
	worker = children.spawn(["sleep", "60"])
	watcher = watch(proctor, worker.pid, "--summary")
	is_watched(proctor)
	watcher.send_signal(signo)
	_, err = watcher.communicate(timeout=60)
	assert watcher.returncode == 0 and worker.poll() is None
	job = job_of(proctor)
	assert (job["status"], job["exit_code"], job["job_type"]) == ("completed", None, "sleep")
	assert "still running" in err.splitlines()[0] and "ok in" not in err
	assert "largest process, sleep" in err


@pytest.mark.parametrize("tier", ["bpf", "connector"])
@pytest.mark.needs_root
def test_a_signal_that_kills_it_is_its_end(proctor, children, tier):
	worker = children.spawn(["sleep", "60"])
	watcher = watch(proctor, worker.pid, "--tier", tier)
	is_watched(proctor)
	worker.kill()
	watcher.communicate(timeout=60)
	assert watcher.returncode == 128 + signal.SIGKILL
	job = job_of(proctor)
	assert (job["status"], job["signal_num"]) == ("failed", signal.SIGKILL)


@pytest.mark.tier("proc")
def test_an_end_that_nothing_reports_is_not_made_up(proctor, children):
	worker = children.spawn(["sleep", "60"])
	watcher = watch(proctor, worker.pid, "--tier", "proc")
	is_watched(proctor)
	worker.terminate()
	worker.wait(60)
	_, err = watcher.communicate(timeout=60)
	assert watcher.returncode == 1 and "its exit status is not known" in err
	job = job_of(proctor)
	assert (job["status"], job["exit_code"], job["signal_num"]) == ("lost", None, None)


def refused(done, word):
	assert done.returncode == 125 and word in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_process_that_cannot_be_watched_is_refused(proctor, children):
	refused(proctor("run", "--pid", "1"), "process 1 is the parent of all")
	gone = children.spawn(["true"])
	gone.wait(60)
	refused(proctor("run", "--pid", gone.pid), "there is no process with pid %d" % gone.pid)
	refused(proctor("run", "--pid", "0"), "--pid 0 is not the number of a process")
	refused(proctor("run", "--pid", "4194305"), "not the number of a process")
	refused(proctor("run", "--pid", os.getpid(), "--", "true"), "give a command or --pid, not both")
	refused(proctor("run", "--pid", os.getpid(), "--mem", "1G"), "are for a command")
	kernel = kernel_thread()
	if kernel and os.geteuid() == 0:
		refused(proctor("run", "--pid", kernel), "is a kernel thread")
	assert not proctor.state_dir.exists() or job_of(proctor) is None


ANCESTOR = "process %d (sh) has started this proctor"


def test_a_process_that_waits_for_us_is_not_waited_for(proctor):
	shell = subprocess.Popen(["sh", "-c", "%s run --pid $$; echo status $?" % proctor.binary], env=proctor.env, stdout=-1, stderr=-1, text=True)
	out, err = shell.communicate(timeout=60)
	assert out == "status 125\n" and ANCESTOR % shell.pid in err and "setsid -f" in err


@pytest.mark.needs_root
def test_a_plain_users_own_shell_is_not_waited_for(as_nobody):
	done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", "./proctor run --pid $$; echo status $? of $$"],
			      env=as_nobody.env, cwd=as_nobody.place, capture_output=True, text=True, timeout=60, check=True)
	status, pid = done.stdout.split()[1::2]
	assert status == "125" and ANCESTOR % int(pid) in done.stderr


def test_another_proctor_is_not_watched_but_its_command(proctor, children):
	other = children.spawn([proctor.binary, "run", "--", "sleep", "60"], env=proctor.env)
	refused(proctor("run", "--pid", other.pid), ") is proctor's own")  # while it starts a helper it has that one's name


def test_a_plain_user_watches_processes_of_their_own(as_nobody, children):
	refused(as_nobody("run", "--pid", os.getpid()), "is another user's")
	mine = children.spawn(["setpriv", "--reuid=65534", "--clear-groups", "sleep", "5"])
	wait_for(lambda: os.stat("/proc/%d" % mine.pid).st_uid == 65534)
	done = as_nobody("run", "--job-id", "w", "--pid", mine.pid)
	assert done.returncode in (0, 1), done.stderr
	assert mine.wait(60) == 0
	job = json.loads(as_nobody("ls", "--json").stdout)["jobs"][0]
	assert job["job_type"] == "sleep" and done.returncode == (0 if job["exit_code"] == 0 else 1)
