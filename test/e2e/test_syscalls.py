# SPDX-License-Identifier: MIT
"""The system calls of a job, counted by the kernel: against what the program knows of itself, and against strace."""
import contextlib
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import wait_for
from daemonkit import cold, daemon  # pylint: disable=unused-import
from runkit import PROG_DIR, Plain, Run, children_of, command_of, state_of

CLOCK_NANOSLEEP = 230  # on x86-64
CALLS = str(PROG_DIR / "calls")
# In a pipeline of a shell: which process ends first, and whether a signal comes while one waits.
DEPENDS_ON_TIME = ("wait4", "rt_sigreturn", "read")


@pytest.fixture
def count(run):
	"""count(COMMAND…): {name: calls} of the job, and how many of them failed with what."""

	def take(*command, options=()):
		done = run(*command, options=["--syscalls", *options])
		assert done.returncode == 0, done.stderr
		return stored(run, "job")

	return take


def stored(run, table, where="1"):
	"""{name: [calls, ns, {error: calls}]} of a row."""
	row, = run.sql(f"SELECT syscalls FROM {table} WHERE {where}")
	return json.loads(row["syscalls"] or "{}")


def strace(run, *command):
	"""{name: (calls, errors)}, as strace counts them."""
	done = run.bare("strace", "-f", "-c", "-U", "calls,errors,name", *command)
	rows = re.findall(r"^ *(\d+) +(\d+)? +(\w+)$", done.stderr, re.M)
	return {name: (int(calls), int(errors or 0)) for calls, errors, name in rows if name != "total"}


@pytest.mark.needs_root
def test_every_call_is_counted_once(count):
	assert count(CALLS, "ask", 12345)["getppid"][0] == 12345


@pytest.mark.needs_root
def test_calls_of_all_threads_are_counted(count):
	assert count(CALLS, "threads", 5000)["getppid"][0] == 8 * 5000


@pytest.mark.needs_root
def test_failures_are_counted_by_their_error(count):
	calls = count(CALLS, "fail", 700)
	assert calls["close"][2] == {"EBADF": 700}
	assert calls["openat"][2]["EBADF"] == 700


@pytest.mark.needs_root
def test_a_call_has_one_name_however_it_was_made(count):
	assert count(CALLS, "ia32", 321)["getppid"][0] == 321


@pytest.mark.needs_root
def test_a_thread_may_make_more_kinds_of_calls_than_it_has_room_for(count):
	calls = count(CALLS, "strange", 50)
	assert {name: calls[name][0] for name in calls if name.startswith("syscall_")} == {f"syscall_{nr}": 50 for nr in range(900, 1000)}
	assert all(calls[f"syscall_{nr}"][2] == {"ENOSYS": 50} for nr in range(900, 1000))


@pytest.mark.needs_root
def test_a_thread_that_runs_a_program_keeps_its_calls(count):
	calls = count(CALLS, "exec", 100)
	assert calls["getppid"][0] == 100
	assert calls["execve"][0] == 2  # the command's own, and that of the thread
	assert calls["exit_group"][0] == 1


@pytest.mark.needs_root
def test_each_child_has_calls_of_its_own(count, run):
	calls = count(CALLS, "spawn", 20)
	rows = run.sql("SELECT syscalls FROM process WHERE comm = 'true'")
	assert len(rows) == 20
	assert all(json.loads(row["syscalls"])["execve"][0] == 1 for row in rows)
	assert calls["execve"][0] == 21
	assert calls["exit_group"][0] == 21


@pytest.mark.needs_root
@pytest.mark.parametrize("command", [["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=2000"], ["ls", "-la", "/usr/bin"],
                                     ["sh", "-c", "ls / | sort | head -3 >/dev/null; cat /nonexistent || true"]], ids=["dd", "ls", "sh"])
def test_strace_counts_the_same(count, run, command):
	calls = {name: (c[0], sum(c[2].values()) if len(c) > 2 else 0) for name, c in count(*command).items()}
	expected = strace(run, *command)
	assert calls.pop("exit_group")[0] >= 1  # it never returns, and strace leaves it out
	for name in DEPENDS_ON_TIME if command[0] == "sh" else ():
		calls.pop(name, None), expected.pop(name, None)
	assert calls == expected


@pytest.mark.needs_root
def test_a_call_that_never_returns_is_counted_with_the_time_it_took(run, children):
	launcher = children.spawn(run.line(CALLS, "block", 0, options=["--syscalls"]), env=run.env)
	wait_for(lambda: run.is_recorded() and stored(run, "job").get("pause", [0, 0])[1] > 2e8)
	os.kill(command_of(launcher), signal.SIGKILL)
	launcher.wait()
	calls = stored(run, "job")
	assert calls["pause"][0] == 1
	assert 2e8 < calls["pause"][1] < run.job()["duration_seconds"] * 1e9


@pytest.mark.needs_root
def test_programs_and_humans_read_where_the_time_went(count, run, proctor):
	count("sh", "-c", "dd if=/dev/zero of=/dev/null bs=1 count=50000 2>/dev/null; sleep 0.2; cat /nonexistent 2>/dev/null || true")
	report = json.loads(proctor("report", "--json").stdout)
	assert report["quality"]["syscall_hotspots"] == "exact"
	assert report["syscalls"]["write"]["count"] >= 50000
	assert report["syscalls"]["openat"]["errors"] >= 1
	assert 99 < sum(call["time_pct"] for call in report["syscalls"].values()) < 101
	assert report["syscall_hotspots"].items() <= {name: call["time_pct"] for name, call in report["syscalls"].items()}.items()
	assert report["job"]["figures"]["syscall_count"] == sum(call["count"] for call in report["syscalls"].values())
	assert re.search(r"Syscalls +[\d,]+ in .*clock_nanosleep \d", proctor("report").stdout)
	job = run.job()
	assert json.loads(job["syscall_counts"])["write"] == report["syscalls"]["write"]["count"]
	assert json.loads(job["syscall_time_pct"]) == {name: call["time_pct"] for name, call in report["syscalls"].items()}


# ---- of processes that run already ------------------------------------------------------------------

@pytest.mark.parametrize("user", [pytest.param("root", marks=pytest.mark.needs_root), "nobody"])
def test_a_report_has_the_calls_of_sheets_and_processes_with_their_errors(proctor, as_nobody, user):
	"""By name, for people and for programs; of a job that was not counted, none."""
	host, calls = (proctor, CALLS) if user == "root" else (as_nobody, as_nobody.copy(CALLS))
	command = ["sh", "-c", "$PROCTOR sheet 1 -- %s fail 70; $PROCTOR sheet 2 -- %s ask 500" % (calls, calls)]
	assert host("run", "-q", "--syscalls", "--", *command).returncode == 0
	report = json.loads(host("report", "last", "--json").stdout)
	first, second = (sheet["syscalls"] for sheet in report["sheets"])
	assert first["close"]["errors"] >= 70 == first["close"]["errors_by_name"]["EBADF"]
	assert report["syscalls"]["close"]["errors_by_name"]["EBADF"] == 70
	assert second["getppid"]["errors_by_name"] == {}
	# The helper of `proctor sheet` makes that call, too, once.
	assert second["getppid"]["count"] in (500, 501) and first.get("getppid", {"count": 0})["count"] <= 1
	assert any(p["syscalls"].get("getppid", {}).get("count") == 500 for p in report["costly_processes"])
	text = host("report", "last").stdout
	assert re.search(r"^  sheet 1 .* (close|openat) EBADF 70", text, re.M), text
	host("run", "-q", "--", "true")
	report = json.loads(host("report", "last", "--json").stdout)
	assert report["syscalls"] == {} == report["costly_processes"][0]["syscalls"] and report["quality"]["syscall_hotspots"] == "missing"


@pytest.mark.needs_root
def test_a_running_process_is_counted_with_all_its_threads(children, proctor):
	busy = children.spawn(["sh", "-c", "exec timeout 20 dd if=/dev/zero of=/dev/null bs=1"])
	done = proctor("syscalls", busy.pid, "--for", "0.5s", "--json")
	assert done.returncode == 0, done.stderr
	assert json.loads(done.stdout)["quality"] == "exact"
	pythons = children.python("import threading, time\nfor _ in range(3): threading.Thread(target=lambda: [time.sleep(0.01) for _ in range(3000)]).start()")
	wait_for(lambda: len(os.listdir(f"/proc/{pythons.pid}/task")) == 4)
	calls = json.loads(proctor("syscalls", pythons.pid, "--for", "1s", "--json").stdout)["syscalls"]
	assert calls["clock_nanosleep"]["count"] > 100  # of one thread there would be at most 100
	assert wait_for(lambda: not tracepoints_in_use())


def descendants_of(pid):
	found = []
	for children in Path("/proc/%d/task" % pid).glob("*/children"):
		with contextlib.suppress(FileNotFoundError, ProcessLookupError):
			for child in map(int, children.read_text(encoding="ascii").split()):
				found += [child, *descendants_of(child)]
	return found


def tracepoints_in_use():
	"""Links of programs to the system calls of all processes, that processes of this test hold. Others may hold some, too."""
	found = []
	for pid in descendants_of(os.getpid()):
		for info in Path("/proc/%d/fdinfo" % pid).glob("*"):
			with contextlib.suppress(FileNotFoundError, ProcessLookupError):
				found += re.findall(r"^tp_name:\s+(sys_enter|sys_exit)$", info.read_text(encoding="ascii", errors="replace"), re.M)
	return found


@pytest.mark.needs_root
def test_a_process_that_ends_ends_the_counting(children, proctor):
	short = children.spawn(["sleep", "0.7"])
	done = proctor("syscalls", short.pid, "--json")
	assert done.returncode == 0, done.stderr
	calls = json.loads(done.stdout)["syscalls"]
	assert calls["exit_group"]["count"] == 1


# What is no process, or none that makes calls. A thread is named by its own id, and the process by that of its first, which has ended.
ODD = """
import ctypes, os, threading, time
zombie = os.fork() or os._exit(0)
threading.Thread(target=lambda: time.sleep(60)).start()
tid, = [tid for tid in map(int, os.listdir("/proc/self/task")) if tid != os.getpid()]
print(zombie, tid, flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.mark.needs_root
def test_what_makes_no_calls_is_named_with_an_exit_status_of_its_own(children, proctor):
	odd = children.python(ODD, stdout=subprocess.PIPE)
	zombie, tid = map(int, odd.stdout.readline().split())
	wait_for(lambda: state_of(zombie) == "Z" and state_of(odd.pid) == "Z")
	for pid, status, words in ((zombie, 3, "has ended, and waits for its parent"), (tid, 3, f"is a thread, of process {odd.pid}"),
	                           (2, 1, "is a kernel thread: it makes no system calls")):
		done = proctor("syscalls", pid, "--for", "0.1s")
		assert (done.returncode, done.stdout) == (status, "") and words in done.stderr, done.stderr
	assert "clock_nanosleep" in proctor("syscalls", odd.pid, "--for", "0.1s").stdout


@pytest.mark.needs_root
def test_a_process_that_sits_in_one_call_is_shown_with_it(children, proctor):
	sleeper = children.spawn(["sleep", "60"])
	wait_for(lambda: Path("/proc/%d/syscall" % sleeper.pid).read_text(encoding="ascii").startswith("%d " % CLOCK_NANOSLEEP))
	answer = json.loads(proctor("syscalls", sleeper.pid, "--for", "0.4s", "--json").stdout)
	assert answer["syscalls"] == {"clock_nanosleep": {"count": 0, "errors": 0, "errors_by_name": {}, "time_pct": 100.0}}
	assert (answer["quality"], answer["time_quality"]) == ("exact", "at_least")
	waits, = answer["blocked"]
	assert (waits["pid"], waits["call"]) == (sleeper.pid, "clock_nanosleep") and waits["seconds"] > 0.2, waits  # a lower bound
	shown = proctor("syscalls", sleeper.pid, "--for", "0.2s").stdout
	assert re.search(r"Waiting now\n +sleep \d+ +clock_nanosleep, for \d", shown) and "no system calls" not in shown, shown


@pytest.mark.needs_root
def test_a_call_counts_in_which_a_process_was_when_counting_began(children, proctor):
	parent = children.python("import os, signal\nchild = os.fork() or signal.pause()\nos.waitpid(child, 0)\nsignal.pause()")
	wait_for(lambda: children_of(parent.pid) and state_of(parent.pid) == "S")
	counting = children.spawn([proctor.binary, "syscalls", parent.pid, "--json"], env=proctor.env, stdout=subprocess.PIPE, text=True)
	wait_for(tracepoints_in_use)
	os.kill(children_of(parent.pid)[0], signal.SIGKILL)
	wait_for(lambda: not children_of(parent.pid) and state_of(parent.pid) == "S")
	os.kill(parent.pid, signal.SIGKILL)
	calls = json.loads(counting.communicate(timeout=30)[0])["syscalls"]
	assert (calls["wait4"]["count"], calls["pause"]["count"]) == (1, 1), calls


@pytest.mark.needs_root
def test_a_job_is_shown_as_it_was_recorded(count, proctor):
	count(CALLS, "ask", 300)
	shown = proctor("syscalls").stdout
	assert re.search(r"^CALL +CALLS +ERRORS +TIME +USECS/CALL +%$", shown, re.M)
	assert re.search(r"^getppid +300 +- ", shown, re.M)
	assert json.loads(proctor("syscalls", "--json").stdout)["syscalls"]["getppid"]["count"] == 300


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_number_that_is_no_pid_is_not_taken_for_a_job(request, user):
	run = request.getfixturevalue("proctor" if user == "root" else "as_nobody")
	assert run("run", "-q", "--job-id", "night-2026", "--", "true").returncode == 0
	for word in ("0", "00", "99999999999"):
		done = run("syscalls", word)
		assert (done.returncode, done.stdout, done.stderr) == (3, "", "proctor: '%s' is neither the pid of a process nor a job\n" % word)


def test_what_cannot_be_counted_is_reported(run, proctor):
	missing = proctor("syscalls", 4194303)
	assert (missing.returncode, missing.stderr) == (3, "proctor: there is no process 4194303; list them: ps -e\n")
	run("true")
	untraced = proctor("syscalls")
	assert untraced.returncode == 3
	assert "were not counted: run it with --syscalls" in untraced.stderr


# ---- by the daemon ----------------------------------------------------------------------------------

SLEEPERS = "import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', 'import time\\nfor _ in range(3000): time.sleep(0.01)'])\ntime.sleep(30)"


@pytest.mark.needs_root
def test_the_daemon_counts_the_calls_of_jobs_when_it_is_configured_to(children, cold):
	cold.config.write_text("[profiler]\ninterval_seconds = 1\nstrace_enabled = true\n", encoding="utf-8")
	daemon = cold.start()
	assert not tracepoints_in_use()
	old = children.python(SLEEPERS)
	wait_for(lambda: children_of(old.pid))
	daemon.result("job.start", job_id="traced", pid=old.pid)
	shown = wait_for(lambda: [p for p in daemon.result("daemon.top")["processes"] if p["syscall_counts"].get("clock_nanosleep", 0) > 50])
	assert [p["job_id"] for p in shown] == ["traced"]
	assert shown[0]["pid"] == children_of(old.pid)[0]
	assert daemon.result("context.get", pid=shown[0]["pid"])["syscall_hotspot"] == "clock_nanosleep 100%"
	assert tracepoints_in_use()
	os.killpg(old.pid, signal.SIGKILL)
	old.wait()
	wait_for(lambda: not tracepoints_in_use())
	profile = wait_for(lambda: daemon.result("job.profile", job_id="traced")["syscall_hotspots"])
	assert profile["clock_nanosleep"] > 90


@pytest.mark.needs_root
def test_counting_is_switched_on_and_off_when_the_daemon_reloads(children, daemon):
	def reload(value):
		daemon.config.write_text("[profiler]\ninterval_seconds = 1\nstrace_enabled = %s\n" % value, encoding="utf-8")
		before = daemon.log_text().count("configuration reloaded")
		daemon.process.send_signal(signal.SIGHUP)
		wait_for(lambda: daemon.log_text().count("configuration reloaded") > before)

	def counted(job_id):
		return [p for p in daemon.result("daemon.top")["processes"] if p["job_id"] == job_id and p["syscall_counts"]]

	first = children.python(SLEEPERS)
	daemon.result("job.start", job_id="first", pid=first.pid)
	daemon.wait_ticks()
	assert not tracepoints_in_use()
	reload("true")
	wait_for(lambda: counted("first"))
	assert tracepoints_in_use()
	reload("false")
	wait_for(lambda: not tracepoints_in_use())
	second = children.python(SLEEPERS)
	daemon.result("job.start", job_id="second", pid=second.pid)
	daemon.wait_ticks(2)
	assert not tracepoints_in_use() and not counted("second")
	reload("yes")
	wait_for(lambda: counted("second"))
	for child in (first, second):
		os.killpg(child.pid, signal.SIGKILL)
		child.wait()
	wait_for(lambda: not tracepoints_in_use())


@pytest.mark.needs_root
def test_where_counting_is_configured_a_run_counts_and_the_daemon_leaves_its_job_to_it(children, cold, gate):
	plain, counting = cold.place / "plain.conf", cold.config
	plain.write_text("", encoding="utf-8")
	counting.write_text("[profiler]\ninterval_seconds = 1\nstrace_enabled = true\n", encoding="utf-8")
	daemon = cold.start()
	run = Run(daemon.proctor)
	left = children.spawn(run.line("sh", "-c", f"read go <{gate}", options=["--job-id", "left", "--config", plain]), env=run.env)
	wait_for(lambda: [p for p in daemon.result("daemon.top")["processes"] if p["job_id"] == "left"])
	daemon.wait_ticks()
	assert not tracepoints_in_use()
	gate.open()
	left.wait()
	done = run(CALLS, "ask", 12345, options=["--job-id", "counted", "--config", counting])
	assert (done.returncode, done.stderr) == (0, "")
	assert not tracepoints_in_use()
	jobs = {job["job_id"]: json.loads(job["syscalls"] or "{}") for job in run.sql("SELECT job_id, syscalls FROM job")}
	assert jobs["counted"]["getppid"][0] == 12345 and jobs["left"] == {}
	assert run(CALLS, "ask", 5, options=["--job-id", "refused", "--config", counting, "--no-bpf"]).stderr == ""


@pytest.mark.needs_root
def test_the_daemon_counts_nothing_by_itself(children, daemon):
	child = children.spawn(["sleep", "30"])
	daemon.result("job.start", job_id="plain", pid=child.pid)
	daemon.wait_ticks(2)
	assert not tracepoints_in_use()
	assert all(p["syscall_counts"] == {} for p in daemon.result("daemon.top")["processes"])
