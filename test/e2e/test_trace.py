# SPDX-License-Identifier: MIT
"""`proctor trace`: strace on request, and whatever dies first, the process goes on and nothing is left."""
import contextlib
import ctypes
import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from conftest import wait_for
from daemonkit import cold, daemon  # pylint: disable=unused-import
from runkit import NOBODY, PROG_DIR, SANITIZERS, state_of
from terminal import Terminal

CALLS = str(PROG_DIR / "calls")
# Short commands one after the other: there is always a vfork() going on. The other is at rest.
STORM, RESTING = ["sh", "-c", "while :; do /bin/true; done"], ["sleep", "60"]
KILLS, SIDE_BY_SIDE = 80, 4  # others in each run: see TRACE_SEED


def status_of(pid, key):
	"""A line of /proc/PID/status; None: there is no such process."""
	try:
		text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
	except (FileNotFoundError, ProcessLookupError):
		return None
	return re.search(rf"^{key}:\s*(\S+)", text, re.M)[1]


def is_traced(pid):
	return status_of(pid, "TracerPid") not in ("0", None)


def goes_on(pid):
	return status_of(pid, "TracerPid") == "0" and status_of(pid, "State") in "RSD"


def all_marked(mark):
	"""The processes that were started with this text in their environment, and are no zombies."""
	found = []
	for name in os.listdir("/proc"):
		try:
			if name.isdigit() and mark in Path("/proc", name, "environ").read_bytes():
				found.append(int(name))
		except OSError:
			pass
	return found


def nothing_is_left(mark):
	wait_for(lambda: not all_marked(mark), seconds=10)


class Tracing:
	"""`proctor trace` in the background, with a mark by which all that it starts is found."""

	count = 0

	def __init__(self, proctor, *words, **how):
		Tracing.count += 1
		self.mark = f"TRACE_TEST={os.getpid()}.{Tracing.count}"
		env = {**proctor.env, **SANITIZERS, **how.pop("env", {}), "TRACE_TEST": self.mark.partition("=")[2]}
		how.setdefault("stdout", subprocess.PIPE)
		how.setdefault("stderr", subprocess.PIPE)
		self.process = subprocess.Popen([proctor.binary, "trace", *map(str, words)], env=env, stdin=subprocess.DEVNULL, text=True, **how)

	def end(self):
		"""Exit status, output and messages. Nothing is left behind."""
		out, messages = self.process.communicate(timeout=30)
		nothing_is_left(self.mark.encode())
		return self.process.returncode, out, messages


@pytest.fixture
def trace(proctor, children):
	"""trace(PID, …): a Tracing that has attached."""
	del children  # ends its processes after ours

	def start(pid, *words, **how):
		one = Tracing(proctor, pid, *words, **how)
		wait_for(lambda: is_traced(pid) or one.process.poll() is not None, step=0.002)
		return one

	return start


# ---- what is shown, and how it ends -----------------------------------------------------------------

def test_every_call_is_shown_until_the_process_has_ended(children, trace, gate):
	target = children.spawn(["sh", "-c", f"read go <{gate}; {CALLS} ask 300; exit 3"])
	one = trace(target.pid)
	gate.open()
	status, out, messages = one.end()
	assert (status, messages) == (0, "")
	assert target.wait() == 3
	assert out.count("getppid(") == 300  # some lines are cut in two when the shell calls, too
	assert re.search(rf"^{target.pid} +\d\d:\d\d:\d\d \+\+\+ exited with 3 \+\+\+$", out, re.M)
	assert all(re.match(r"\d+ +\d\d:\d\d:\d\d ", line) for line in out.splitlines())


@pytest.mark.parametrize("signo", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("command", [STORM, RESTING], ids=["storm", "resting"])
def test_a_signal_ends_the_trace_and_not_the_process(children, trace, command, signo):
	target = children.spawn(command)
	one = trace(target.pid, stdout=subprocess.DEVNULL)
	one.process.send_signal(signo)
	assert one.end() == (0, None, "")
	wait_for(lambda: goes_on(target.pid))


def test_it_ends_with_the_reader_of_its_output(children, trace):
	target = children.spawn(RESTING)
	one = trace(target.pid)
	one.process.stdout.close()
	assert one.process.wait(timeout=30) == 0  # though there was nothing to write
	assert one.process.stderr.read() == ""
	nothing_is_left(one.mark.encode())
	wait_for(lambda: goes_on(target.pid))


def test_a_reader_that_does_not_read_keeps_nobody_from_ending_it(children, trace):
	"""The pipe is full, strace waits for it, and the process waits for strace."""
	target = children.spawn([CALLS, "ask", 10**9])
	one = trace(target.pid)
	wait_for(lambda: state_of(target.pid) == "t" and len(set(wait_chan_samples(target.pid))) == 1)
	one.process.send_signal(signal.SIGTERM)
	assert one.process.wait(timeout=30) == 0
	nothing_is_left(one.mark.encode())
	wait_for(lambda: goes_on(target.pid))
	one.process.communicate()


def wait_chan_samples(pid):
	"""Its context switches, a while apart: the same when it stands still."""
	for _ in range(2):
		yield status_of(pid, "voluntary_ctxt_switches")
		time.sleep(0.3)


def test_the_time_and_the_calls_can_be_limited_and_the_trace_written_to_a_file(children, proctor, tmp_path):
	target, file = children.spawn(STORM), tmp_path / "trace"
	began = time.monotonic()
	one = Tracing(proctor, target.pid, "-o", file, "--for", "0.7s", "--filter", "execve,%signal")
	assert one.end() == (0, "", "")
	assert 0.6 < time.monotonic() - began < 10
	calls = set(re.findall(r"^\d+ +\S+ (\w+)\(", file.read_text(), re.M))
	assert "execve" in calls and calls <= {"execve", "rt_sigprocmask", "rt_sigaction", "rt_sigreturn", "kill"}
	assert file.stat().st_mode & 0o777 == 0o600
	wait_for(lambda: goes_on(target.pid))


def test_a_file_without_room_is_reported(children, proctor):
	one = Tracing(proctor, children.spawn(STORM).pid, "-o", "/dev/full")
	assert one.end() == (1, "", "proctor: write '/dev/full': No space left on device\n")


def test_on_a_terminal_there_are_lines_of_strace_and_one_of_ours(children, proctor):
	target = children.spawn(STORM)
	with Terminal([proctor.binary, "trace", target.pid], {**proctor.env, **SANITIZERS}) as tty:
		tty.expect(rf"proctor: tracing sh \(pid {target.pid}\), its threads and new children, until they end or Ctrl-C is pressed\r\n")
		tty.expect(r"\r\n\d+ +\d\d:\d\d:\d\d execve\(")
		tty.type("\x1a")  # Ctrl-Z
		tty.expect(r"\r\n\d+ +\d\d:\d\d:\d\d execve\(")
		tty.type("\x13")  # Ctrl-S: nothing is shown, and the process waits
		wait_for(lambda: state_of(target.pid) in ("t", "D", "S"))
		tty.type("\x03")
		wait_for(lambda: os.waitpid(tty.pid, os.WNOHANG)[0])
		tty.pid = None
	wait_for(lambda: goes_on(target.pid))


def test_a_process_that_was_stopped_stays_stopped(children, trace):
	target = children.spawn(RESTING)
	target.send_signal(signal.SIGSTOP)
	wait_for(lambda: state_of(target.pid) == "T")
	one = trace(target.pid)
	one.process.send_signal(signal.SIGINT)
	assert one.end()[0] == 0
	assert not is_traced(target.pid)
	wait_for(lambda: state_of(target.pid) == "T")


# ---- what cannot be traced --------------------------------------------------------------------------

def refused(proctor, *words, **how):
	done = proctor("trace", *words, **how)
	assert done.stdout == ""
	return done.returncode, done.stderr


def test_what_is_missing_is_reported(proctor, children):
	assert refused(proctor, 4194303) == (3, "proctor: there is no process 4194303; list them: ps -e\n")
	ended = children.spawn(RESTING)
	ended.send_signal(signal.SIGKILL)
	wait_for(lambda: state_of(ended.pid) == "Z")
	assert refused(proctor, ended.pid) == (3, f"proctor: process {ended.pid} (sleep) has ended, and waits for its parent\n")


def test_wrong_words_are_refused_before_anything_is_touched(proctor, children, tmp_path):
	target = children.spawn(RESTING)
	for words, problem in ((["x"], "'x' is not the number of a process"), ([], "give the number of one process"),
			    ([target.pid, "--for", "0"], "--for must be greater than 0"), ([target.pid, "--filter", ""], "--filter has 1 to 1024 bytes"),
			    ([target.pid, "--filter", "opne"], "--filter 'opne': invalid system call 'opne'"),
			    ([target.pid, "--filter", "read,/("], "--filter 'read,/(': regcomp: (: Unmatched ( or \\(")):
		status, messages = refused(proctor, *words)
		assert (status, messages) == (2, f"proctor: trace: {problem}; see: proctor trace --help\n")
	assert refused(proctor, target.pid, "-o", tmp_path / "no/such") == (1, f"proctor: open '{tmp_path}/no/such': No such file or directory; choose another file with -o FILE\n")


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_trace_that_does_not_begin_leaves_its_file_as_it_was(request, children, user):
	run = request.getfixturevalue("proctor" if user == "root" else "as_nobody")
	place = request.getfixturevalue("tmp_path") if user == "root" else run.place
	target = children.spawn(RESTING, **({} if user == "root" else {"user": int(NOBODY), "group": int(NOBODY), "extra_groups": []}))
	kept, new = place / "kept", place / "new"
	kept.write_text("what was there\n", encoding="utf-8")
	kept.chmod(0o666)
	for file in (kept, new):
		done = run("trace", target.pid, "--filter", "nosuch", "-o", file)
		assert done.returncode == 2 and "invalid system call 'nosuch'" in done.stderr
		assert run("trace", 4194303, "-o", file).returncode == 3
	assert kept.read_text(encoding="utf-8") == "what was there\n" and not new.exists()
	for file in (kept, new):
		assert run("trace", target.pid, "-o", file, "--for", "0.3s").returncode == 0
		assert "what was there" not in file.read_text(encoding="utf-8")


@pytest.mark.needs_root
def test_a_process_that_may_not_be_traced_is_refused_for_that(as_nobody):
	for words in ((1,), (1, "-o", as_nobody.place / "file")):
		done = as_nobody("trace", *words)
		assert done.returncode == 1 and "process 1 (" in done.stderr and "root" in done.stderr and "ancestor" not in done.stderr
	assert not (as_nobody.place / "file").exists()


def test_a_kernel_thread_makes_no_calls(proctor):
	if status_of(2, "Name") != "kthreadd":
		pytest.skip("NOT RUN: kernel threads are not visible here")
	assert refused(proctor, 2) == (1, "proctor: process 2 (kthreadd) is a kernel thread: it makes no system calls\n")


def test_the_tracer_that_is_there_already_is_named(proctor, children, trace):
	target = children.spawn(RESTING)
	trace(target.pid)
	tracer = int(status_of(target.pid, "TracerPid"))
	assert refused(proctor, target.pid) == (1, f"proctor: process {target.pid} (sleep) is already traced, by strace (pid {tracer})\n")


def test_a_parent_that_reads_the_trace_is_traced_only_into_a_file(proctor, tmp_path):
	status, messages = refused(proctor, os.getpid())
	assert status == 1 and f"process {os.getpid()} is an ancestor of this command" in messages and "-o FILE" in messages
	assert proctor("trace", os.getpid(), "-o", tmp_path / "ours", "--for", "0.3s").returncode == 0
	assert (tmp_path / "ours").stat().st_size > 0


def test_without_strace_the_package_is_named(proctor, children):
	status, messages = refused(proctor, children.spawn(RESTING).pid, env={"PATH": "/nonexistent:relative::"})
	assert status == 1 and "strace is not installed" in messages and "apt install strace" in messages


def test_a_strace_that_never_attaches_is_a_failure(proctor, children, tmp_path):
	(tmp_path / "strace").write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
	(tmp_path / "strace").chmod(0o755)
	status, messages = refused(proctor, children.spawn(RESTING).pid, "--for", "0.3s", env={"PATH": "%s:%s" % (tmp_path, os.environ["PATH"])})
	assert status == 1 and "did not attach" in messages, messages


def test_it_can_be_switched_off(proctor, children, tmp_path):
	(tmp_path / "conf").write_text("[profiler]\nstrace_full_on_demand = no\n", encoding="utf-8")
	assert refused(proctor, children.spawn(RESTING).pid, "--config", tmp_path / "conf") == (
		1, "proctor: traces are switched off: [profiler] strace_full_on_demand is false\n")


@pytest.mark.needs_root
def test_a_user_traces_own_processes_and_learns_why_not_others(as_nobody, children):
	mine = children.spawn(["sleep", "60"], user=int(NOBODY), group=int(NOBODY), extra_groups=[])
	done = as_nobody("trace", mine.pid, "--for", "0.3s")
	assert (done.returncode, done.stderr) == (0, "")
	assert f"{mine.pid} " in done.stdout
	wait_for(lambda: goes_on(mine.pid))
	roots = children.spawn(RESTING)
	assert refused(as_nobody, roots.pid) == (
		1, f"proctor: process {roots.pid} (sleep) belongs to root: only that user, root, or a program with CAP_SYS_PTRACE, may trace it\n")


@pytest.mark.needs_root
def test_a_protected_process_of_the_same_user_is_distinguished(as_nobody, children):
	hidden = children.python("import ctypes, time\nctypes.CDLL(None).prctl(4, 0)\nprint('ready', flush=True)\ntime.sleep(60)",
				 user=int(NOBODY), group=int(NOBODY), extra_groups=[], stdout=subprocess.PIPE)
	hidden.stdout.readline()
	status, messages = refused(as_nobody, hidden.pid)
	assert status == 1 and "is protected" in messages and "CAP_SYS_PTRACE" in messages
	assert not is_traced(hidden.pid)


# ---- counting, where BPF is not allowed -------------------------------------------------------------

@pytest.mark.needs_root
def test_a_user_without_rights_has_calls_counted_by_strace(as_nobody, children, gate):
	os.chmod(str(gate), 0o666)
	for folder in list(Path(str(gate)).parents)[:4]:
		folder.chmod(folder.stat().st_mode | 0o055)
	program = as_nobody.place / "calls"  # the build tree may lie where nobody cannot read
	program.write_bytes(Path(CALLS).read_bytes())
	program.chmod(0o755)
	target = children.spawn(["sh", "-c", f"read go <{gate}; {program} ask 345; {program} fail 67; exit 5"], user=int(NOBODY), group=int(NOBODY), extra_groups=[])

	def count():
		counted.append(as_nobody("syscalls", target.pid, "--json"))

	counted = []
	counting = threading.Thread(target=count)
	counting.start()
	wait_for(lambda: is_traced(target.pid))
	gate.open()
	counting.join()
	assert target.wait() == 5
	assert (counted[0].returncode, counted[0].stderr) == (0, "")
	found = json.loads(counted[0].stdout)
	assert (found["quality"], found["time_quality"]) == ("exact", "at_most")
	assert found["seconds"] > 0 and found["since"].endswith("Z")
	assert found["syscalls"]["exit_group"]["count"] == 3
	assert found["syscalls"]["getppid"]["count"] in (345, 346)  # a shell asks, too
	assert found["syscalls"]["close"]["errors"] >= 67 and found["syscalls"]["openat"]["errors"] >= 67
	assert 99 < sum(call["time_pct"] for call in found["syscalls"].values()) < 101


@pytest.mark.needs_root
def test_counting_by_strace_ends_like_a_trace(as_nobody, children):
	target = children.spawn(["sh", "-c", "while :; do /bin/true; done"], user=int(NOBODY), group=int(NOBODY), extra_groups=[])
	done = as_nobody("syscalls", target.pid, "--for", "0.5s")
	assert (done.returncode, done.stderr) == (0, "")
	assert re.search(r"^execve +\d+ ", done.stdout, re.M)
	assert re.search(r"\ncounted for [\d.]+m?s, from \d\d:\d\d:\d\d on\ncounted by strace, under which calls take longer\n$", done.stdout)
	wait_for(lambda: goes_on(target.pid))
	status, messages = (done := as_nobody("syscalls", children.spawn(RESTING).pid)).returncode, done.stderr
	assert status == 1 and "belongs to root" in messages and "BPF needs CAP_BPF" in messages
	done = as_nobody("syscalls", target.pid, env={"PATH": "/nonexistent"})
	assert done.returncode == 1 and "strace is not installed" in done.stderr and "BPF needs CAP_BPF" in done.stderr


# ---- whoever dies first -----------------------------------------------------------------------------

class Victims:
	"""A process that is traced, and all that traces it."""

	def __init__(self, proctor, seed):
		self.dice = random.Random(seed)
		self.target_mark = f"TRACE_TARGET={os.getpid()}.{seed}"
		self.target = subprocess.Popen(self.dice.choice([STORM, RESTING, [CALLS, "threads", str(10**9)]]), start_new_session=True,
					       env={**os.environ, "TRACE_TARGET": self.target_mark.partition("=")[2]})
		self.one = Tracing(proctor, self.target.pid, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
		self.has_hit = False  # one of those without which a trace ends

	def find(self, role):
		wrapper = self.one.process.pid
		if role == "wrapper":
			return wrapper
		if role == "target":
			return self.target.pid
		keeper = first_child(wrapper)
		return first_child(keeper) if role == "tracer" and keeper else keeper

	def kill_some(self):
		"""At any moment, from before strace is there. Only while it starts, our two processes are not killed at once: nobody would be left
		to end the children by which strace tests the kernel."""
		is_attached = self.dice.random() < 0.5
		if is_attached:
			wait_for(lambda: is_traced(self.target.pid) or self.one.process.poll() is not None, step=0.001)
			time.sleep(self.dice.uniform(0, 0.03))
		else:
			time.sleep(self.dice.uniform(0, 0.08))
		order = self.dice.sample(["tracer", "wrapper", "target", "keeper"], self.dice.randint(1, 3))
		if not is_attached and {"wrapper", "keeper"} <= set(order):
			order.remove("keeper")
		for role in order:
			pid = self.find(role)
			try:
				if pid:
					os.kill(pid, signal.SIGKILL)
					self.has_hit |= role != "target"
			except ProcessLookupError:
				pass
			time.sleep(self.dice.choice([0, 0, 0.001, 0.01]))
		return order

	def check(self, order):
		if "wrapper" not in order and not self.has_hit:
			self.one.process.terminate()
		self.one.process.wait(timeout=20)
		nothing_is_left(self.one.mark.encode())
		if "target" not in order:
			wait_for(lambda: all(goes_on(tid) for tid in [self.target.pid, *threads_of(self.target.pid)]), seconds=10)
		wait_for(lambda: not any(is_traced(pid) or state_of(pid) in ("t", "T") for pid in all_marked(self.target_mark.encode())), seconds=10)

	def end(self):
		for process in (self.one.process, self.target):
			process.kill()
			process.wait()
		for pid in all_marked(self.target_mark.encode()):  # the child of a shell that was killed
			try:
				os.kill(pid, signal.SIGKILL)
			except ProcessLookupError:
				pass


def first_child(pid):
	try:
		return int(Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()[0])
	except (FileNotFoundError, ProcessLookupError, IndexError):
		return None


def threads_of(pid):
	try:
		return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
	except FileNotFoundError:
		return []


def test_no_child_of_strace_is_left_stopped_when_all_above_it_are_killed(proctor, children, tmp_path):
	"""As it begins, strace tries out what the kernel can with children of its own, which it stops."""
	fake = tmp_path / "strace"
	fake.write_text("#!/bin/sh\nsh -c 'kill -STOP $$' &\nwait\n", encoding="ascii")
	fake.chmod(0o755)
	one = Tracing(proctor, children.spawn(RESTING).pid, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
	wait_for(lambda: any(state_of(pid) == "T" for pid in all_marked(one.mark.encode())))
	keeper = first_child(one.process.pid)
	one.process.kill()
	with contextlib.suppress(ProcessLookupError):  # it may have ended because its parent did
		os.kill(keeper, signal.SIGKILL)
	one.process.communicate(timeout=30)
	nothing_is_left(one.mark.encode())


def test_whatever_is_killed_first_the_process_goes_on_and_nothing_is_left(proctor):
	first = int(os.environ.get("TRACE_SEED", time.time_ns() // 1000))
	print(f"TRACE_SEED={first}")
	seeds, problems = iter(range(first, first + KILLS)), []
	lock = threading.Lock()

	def work():
		while True:
			with lock:
				seed = next(seeds, None)
			if seed is None or problems:
				return
			victims, order = Victims(proctor, seed), []
			try:
				order = victims.kill_some()
				victims.check(order)
			except BaseException as problem:  # pylint: disable=broad-exception-caught
				problems.append(f"seed {seed}, {order}: {problem!r}; left: {all_marked(victims.one.mark.encode())}")
			finally:
				victims.end()

	workers = [threading.Thread(target=work) for _ in range(SIDE_BY_SIDE)]
	for worker in workers:
		worker.start()
	for worker in workers:
		worker.join()
	assert not problems, problems


# ---- by the daemon ----------------------------------------------------------------------------------

USERS_OWN = {"user": int(NOBODY), "group": int(NOBODY), "extra_groups": []}


def error_of(answer):
	return answer["error"]["data"]["code"], answer["error"]["message"]


def text_of(daemon, trace_id, uid=None):
	"""All of an ended trace."""
	text, offset, is_over = "", 0, False
	while not is_over:
		part = daemon.result("trace.read", uid, trace_id=trace_id, offset=offset)
		text, offset, is_over = text + part["text"], part["next_offset"], part["is_over"]
	return text


def helpers_of(daemon):
	"""What strace has started or was started for it, without the process that waits for orders."""
	mark = b"PROCTOR_STATE_DIR=%s\0" % os.fsencode(daemon.proctor.state_dir)
	return [pid for pid in all_marked(mark) if status_of(pid, "Name") in ("strace", "proctor-trace") and status_of(pid, "PPid") != str(daemon.process.pid)]


@pytest.mark.needs_root
@pytest.mark.parametrize("uid", [0, int(NOBODY)], ids=["root", "user"])
def test_the_daemon_traces_into_a_file_until_it_is_ordered_to_stop(daemon, children, uid):
	target = children.spawn(STORM, **(USERS_OWN if uid else {}))
	begun = daemon.result("trace.start", uid, pid=target.pid, filter="execve")
	assert (begun["pid"], begun["uid"], begun["status"], begun["reason"]) == (target.pid, uid, "running", None)
	tracer = int(status_of(target.pid, "TracerPid"))
	assert status_of(tracer, "Name") == "strace" and status_of(tracer, "Uid") == str(uid)
	assert uid == 0 or status_of(tracer, "CapPrm") == "0" * 16
	assert all(not os.readlink(f"/proc/{tracer}/fd/{name}").startswith("socket:") for name in os.listdir(f"/proc/{tracer}/fd"))
	wait_for(lambda: daemon.result("trace.list", uid)["traces"][0]["bytes"] > 1000)
	ended = daemon.result("trace.stop", uid, trace_id=begun["trace_id"])
	assert (ended["status"], ended["reason"]) == ("ended", "stopped")
	text = text_of(daemon, begun["trace_id"], uid)
	assert len(text) == ended["bytes"] and re.search(r"^\d+ +\S+ execve\(", text, re.M)
	assert Path(begun["file"]).read_text(encoding="ascii") == text
	assert (os.stat(begun["file"]).st_mode & 0o777, os.stat(Path(begun["file"]).parent).st_mode & 0o777) == (0o600, 0o700)
	wait_for(lambda: goes_on(target.pid))
	wait_for(lambda: not helpers_of(daemon) or uid == 0)


@pytest.mark.needs_root
def test_a_trace_of_the_daemons_ends_by_time_size_and_with_its_process(cold, children):
	cold.config.write_text("[profiler]\ninterval_seconds = 1\n[limits]\nmax_trace_mb = 1\n", encoding="utf-8")
	daemon = cold.start()

	def ending_of(command, **params):
		target = children.spawn(command)
		begun = daemon.result("trace.start", pid=target.pid, **params)
		if command == RESTING and not params:
			target.kill()
		return wait_for(lambda: next((one for one in daemon.result("trace.list")["traces"] if one["trace_id"] == begun["trace_id"] and one["reason"]), None))

	assert ending_of(RESTING, seconds=0.2)["reason"] == "time"
	assert ending_of(RESTING)["reason"] == "ended"
	full = ending_of([CALLS, "ask", 10**9])
	assert full["reason"] == "size" and 2**20 - 200 < full["bytes"] <= 2**20
	assert text_of(daemon, full["trace_id"]).endswith("\n")


@pytest.mark.needs_root
def test_the_daemon_refuses_what_its_caller_could_not_trace(daemon, children):
	roots, users = children.spawn(RESTING), children.spawn(RESTING, **USERS_OWN)
	user = int(NOBODY)
	for uid, pid, code in ((user, roots.pid, "permission_denied"), (None, daemon.process.pid, "invalid_params"), (None, 4194303, "not_found"),
			       (None, 2, "invalid_params"), (user, 1, "permission_denied")):
		assert error_of(daemon.call("trace.start", uid, pid=pid))[0] == code
	hidden = children.python("import ctypes, time\nctypes.CDLL(None).prctl(4, 0)\nprint('ready', flush=True)\ntime.sleep(60)", stdout=subprocess.PIPE,
				 **USERS_OWN)
	hidden.stdout.readline()
	code, message = error_of(daemon.call("trace.start", user, pid=hidden.pid))
	assert code == "permission_denied" and "is protected" in message
	code, message = error_of(daemon.call("trace.start", user, pid=users.pid, filter="opne"))
	assert (code, message) == ("invalid_params", "filter: invalid system call 'opne'")
	assert error_of(daemon.call("trace.start", user, pid=users.pid, seconds=0))[0] == "invalid_params"
	assert error_of(daemon.call("trace.start", user))[0] == "invalid_params"
	begun = daemon.result("trace.start", user, pid=users.pid)
	code, message = error_of(daemon.call("trace.start", pid=users.pid))
	assert code == "conflict" and "already traced, by strace" in message
	for method in ("trace.stop", "trace.read"):
		assert error_of(daemon.call(method, user + 1, trace_id=begun["trace_id"]))[0] == "not_found"
	assert daemon.result("trace.list", user + 1) == {"traces": []}
	assert [one["trace_id"] for one in daemon.result("trace.list")["traces"]] == [begun["trace_id"]]


@pytest.mark.needs_root
def test_a_set_user_id_program_gains_nothing_while_it_is_traced_for_a_user(daemon, children, tmp_path):
	"""Else a user would read what root's program reads."""
	program = tmp_path / "id"
	program.write_bytes(Path("/usr/bin/id").read_bytes())
	program.chmod(0o4755)
	for folder in [tmp_path, *tmp_path.parents][:4]:
		folder.chmod(folder.stat().st_mode | 0o055)
	if os.statvfs(tmp_path).f_flag & os.ST_NOSUID:
		pytest.skip("NOT RUN: set-user-id programs have no effect here")
	shell = children.spawn(["sh", "-c", f"read go; {program} -u"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **USERS_OWN)
	daemon.result("trace.start", int(NOBODY), pid=shell.pid)
	out, _ = shell.communicate(b"\n", timeout=30)
	assert out == NOBODY.encode() + b"\n"


@pytest.mark.needs_root
def test_what_can_become_other_users_can_do_nothing_else(daemon):
	spawner, = [pid for pid in children_of_threads(daemon.process.pid) if status_of(pid, "Name") == "proctor-trace"]
	change_user = "%016x" % (1 << 6 | 1 << 7)  # CAP_SETGID, CAP_SETUID
	assert [status_of(spawner, key) for key in ("CapPrm", "CapEff", "CapBnd", "NoNewPrivs")] == [change_user] * 3 + ["1"]
	files = {name: os.readlink(f"/proc/{spawner}/fd/{name}") for name in os.listdir(f"/proc/{spawner}/fd")}
	assert {files.pop(name) for name in "012"} == {"/dev/null"}
	assert [name.startswith("socket:") for name in files.values()] == [True]
	caps = int(status_of(daemon.process.pid, "CapPrm"), 16)
	assert caps & (1 << 6 | 1 << 7) == 0


def children_of_threads(pid):
	"""The children that any of its threads has."""
	return [int(child) for tid in threads_of(pid) for child in Path(f"/proc/{pid}/task/{tid}/children").read_text(encoding="ascii").split()]


@pytest.mark.needs_root
def test_the_number_of_traces_and_of_files_is_limited(cold, children):
	cold.config.write_text("[profiler]\ninterval_seconds = 1\n[limits]\nmax_traces = 3\nmax_trace_files = 4\n", encoding="utf-8")
	daemon, user = cold.start(), int(NOBODY)
	users = [children.spawn(RESTING, **USERS_OWN) for _ in range(3)]
	ids = [daemon.result("trace.start", user, pid=one.pid)["trace_id"] for one in users[:2]]
	code, message = error_of(daemon.call("trace.start", user, pid=users[2].pid))
	assert code == "limit_reached" and "max_traces_per_user" in message
	roots = children.spawn(RESTING)
	daemon.result("trace.start", pid=roots.pid)
	code, message = error_of(daemon.call("trace.start", pid=users[2].pid))
	assert code == "limit_reached" and "max_traces)" in message
	for trace_id in ids:
		daemon.result("trace.stop", user, trace_id=trace_id)
	for _ in range(6):
		daemon.result("trace.stop", user, trace_id=daemon.result("trace.start", user, pid=users[0].pid)["trace_id"])
	daemon.result("trace.start", user, pid=users[0].pid)
	names = os.listdir(daemon.proctor.state_dir / "traces")
	assert len([name for name in names if name.startswith(f"{user}-")]) == 4 and len(names) == 5
	assert len(daemon.result("trace.list", user)["traces"]) <= 5


@pytest.mark.needs_root
@pytest.mark.parametrize("signo", [signal.SIGTERM, signal.SIGKILL])
def test_traces_end_with_the_daemon(daemon, children, signo):
	targets = [children.spawn(STORM), children.spawn(STORM, **USERS_OWN)]
	daemon.result("trace.start", pid=targets[0].pid)
	daemon.result("trace.start", int(NOBODY), pid=targets[1].pid)
	daemon.stop(signo)
	mark = b"PROCTOR_STATE_DIR=%s\0" % os.fsencode(daemon.proctor.state_dir)
	nothing_is_left(mark)
	for target in targets:
		wait_for(lambda pid=target.pid: goes_on(pid))


@pytest.mark.needs_root
def test_a_client_that_hangs_up_before_the_answer_has_no_trace(daemon, children):
	target = children.spawn(RESTING)
	for _ in range(5):
		with daemon.line() as line:
			line.send('{"jsonrpc":"2.0","id":1,"method":"trace.start","params":{"pid":%d}}\n' % target.pid)
	wait_for(lambda: goes_on(target.pid) and all(one["status"] == "ended" for one in daemon.result("trace.list")["traces"]))


def test_the_daemon_of_a_user_traces_that_users_processes(children, cold):
	daemon = cold.start("--no-bpf") if os.geteuid() else cold.start()
	target = children.spawn(RESTING)
	begun = daemon.result("trace.start", pid=target.pid, seconds=5)
	assert daemon.result("trace.stop", trace_id=begun["trace_id"])["reason"] == "stopped"


def test_traces_can_be_switched_off_and_a_door_has_none(cold, children):
	cold.config.write_text("[profiler]\ninterval_seconds = 1\nstrace_full_on_demand = no\n", encoding="utf-8")
	daemon = cold.start()
	code, message = error_of(daemon.call("trace.start", pid=children.spawn(RESTING).pid))
	assert code == "permission_denied" and "strace_full_on_demand" in message


@contextlib.contextmanager
def hanging_directory(path):
	"""On a file system whose server answers nothing, until the end."""
	libc = ctypes.CDLL(None, use_errno=True)
	fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
	assert libc.mount(b"hang", os.fsencode(path), b"fuse", 0, b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fd) == 0
	try:
		yield
	finally:
		os.close(fd)
		assert libc.umount2(os.fsencode(path), 2) == 0  # MNT_DETACH


@pytest.mark.needs_root
def test_a_directory_of_traces_that_hangs_holds_up_nobody_else(daemon, children):
	folder = daemon.proctor.state_dir / "traces"
	folder.mkdir(mode=0o700)
	target = children.spawn(RESTING)
	with hanging_directory(folder):
		with daemon.line() as line, daemon.line() as other:
			line.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "trace.start", "params": {"pid": target.pid}}) + "\n")
			assert other.call("trace.list")["result"]["traces"][0]["status"] == "running"
			assert other.call("daemon.status")["result"]["kind"] == "daemon"
	wait_for(lambda: daemon.result("trace.list")["traces"][0]["status"] == "ended")
	assert daemon.result("trace.start", pid=target.pid)["status"] == "running"
