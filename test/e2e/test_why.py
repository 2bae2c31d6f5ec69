# SPDX-License-Identifier: MIT
"""Staged deaths: small programs that die for real, and the cause that `proctor why` finds, as root with BPF and as a plain user. Where
a plain user cannot know, the answer is another true one at less confidence, or `unknown`; no answer is wrong at high confidence."""
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import SCRATCH, read_store, read_store_so_far, wait_for
from runkit import PROG_DIR, Plain, command_of
from test_run_causes import limited  # noqa: F401 pylint: disable=unused-import
from terminal import Terminal

DIE = "./die"
EAT = "bytearray(300 << 20)"


class Stage:
	"""Runs a job in a directory of its own, and asks why it ended."""

	def __init__(self, user, runner, place):
		self.user, self.runner, self.place = user, runner, Path(place)
		shutil.copy(PROG_DIR / "die", self.place / "die")

	def __call__(self, *command, options=(), **how):
		how.setdefault("cwd", self.place)
		if self.user == "root":
			return self.runner(*command, options=["--summary", *options], **how)
		how.pop("cwd")
		return self.runner(*command, options=list(options), **how)

	def ask(self, *words):
		asker = self.runner.proctor if self.user == "root" else self.runner.as_nobody
		done = asker("why", *words)
		assert done.returncode == 0, done.stderr
		return done.stdout

	def why(self):
		return json.loads(self.ask("--json"))


@pytest.fixture(params=["root", "nobody"])
def stage(request, tmp_path):
	if request.param == "root":
		return Stage("root", request.getfixturevalue("run"), tmp_path)
	as_nobody = request.getfixturevalue("as_nobody")
	return Stage("nobody", Plain(as_nobody, PROCTOR_SOCKET="/nonexistent"), as_nobody.place)


def check(stage, cause, confidence=None, culprit=None):
	found = stage.why()
	assert found["cause"] == cause, found
	if confidence:
		assert found["confidence"] == confidence, found
	if culprit:  # a plain user may not learn what a short process was called
		assert found["culprit"]["command"] in ((culprit, None) if stage.user == "nobody" else (culprit,)), found
	assert found["evidence"] or cause == "ok"
	assert all(set(item) == {"at", "source", "text", "value"} for item in found["evidence"])
	assert all(set(item) == {"text", "command"} for item in found["advice"])
	return found


SPIN = "import os, time\nwhile time.process_time() < .45: pass\nos.kill(os.getpid(), 9)"
HIGH, MEDIUM, LOW = "high", "medium", "low"
# name: (command, options, cause, confidence and culprit as root, the same as nobody where it differs)
DEATHS = {
	"a status": (["sh", "-c", "exit 3"], [], ("exit_nonzero", MEDIUM, "sh"), None),
	"a status of a child of make": (["make", "-s", "-f", "Broken"], [], ("exit_nonzero", MEDIUM, "false"), None),
	"a status, with its calls": (["sh", "-c", "exit 3"], ["--syscalls"], ("exit_nonzero", HIGH, "sh"), ("exit_nonzero", None, "sh")),
	"no such command": (["/nonexistent/command"], [], ("not_found", HIGH, None), None),
	"no such command in a script": (["sh", "-c", "no-such-command"], [], ("not_found", MEDIUM, "sh"), None),
	"no program": (["/etc/passwd"], [], ("not_executable", HIGH, None), None),
	"no program in a script": (["sh", "-c", "/etc/passwd"], [], ("not_executable", MEDIUM, "sh"), None),
	"an invalid access": ([DIE, "segfault"], [], ("segfault", HIGH, "die"), ("segfault", MEDIUM, "die")),
	"an invalid access of a child": (["sh", "-c", "./die segfault; exit $?"], [], ("segfault", HIGH, "die"), ("segfault", MEDIUM, "die")),
	"an invalid access of a worker": (["sh", "-c", "./die segfault; exit 1"], [], ("segfault", MEDIUM, "die"), None),
	"an endless recursion": ([DIE, "stack"], [], ("stack_overflow", HIGH, "die"), ("segfault", MEDIUM, "die")),
	"an endless recursion in a thread": ([DIE, "thread-stack"], [], ("segfault", MEDIUM, "die"), None),
	"abort()": ([DIE, "abort"], [], ("abort", HIGH, "die"), ("abort", MEDIUM, "die")),
	"a division by zero": ([DIE, "divide"], [], ("arithmetic_error", HIGH, "die"), ("arithmetic_error", MEDIUM, "die")),
	"a forbidden instruction": ([DIE, "forbidden"], [], ("illegal_instruction", HIGH, "die"), ("illegal_instruction", MEDIUM, "die")),
	"a file cut off": ([DIE, "bus"], [], ("bus_error", HIGH, "die"), ("bus_error", MEDIUM, "die")),
	"ulimit -f": (["sh", "-c", "ulimit -f 100; exec ./die fill"], [], ("rlimit_fsize", HIGH, "die"), None),
	"ulimit -t, by SIGXCPU": (["bash", "-c", "ulimit -S -t 1; exec ./die spin"], [], ("rlimit_cpu", HIGH, "die"), None),
	"ulimit -t, by SIGKILL": (["sh", "-c", "ulimit -t 1; exec ./die spin"], [], ("rlimit_cpu", HIGH, "die"), ("rlimit_cpu", MEDIUM, "die")),
	"a SIGKILL below ulimit -t": (["sh", "-c", "ulimit -t 1; exec /usr/bin/python3 -c '%s'" % SPIN], [], ("abort", HIGH, "python3"), ("unknown", LOW, "python3")),
	"ulimit -v": (["sh", "-c", "ulimit -v 500000; exec ./die allocate"], ["--flight-recorder"], ("rlimit_as", MEDIUM, "die"),
		      ("exit_nonzero", MEDIUM, "die")),
	"a time limit": (["sleep", "60"], ["--time", "0.2"], ("time_limit", HIGH, None), None),
	"timeout as the command": (["timeout", "0.2", "sleep", "60"], [], ("timeout_command", HIGH, "timeout"), None),
	"timeout in a script": (["sh", "-c", "timeout 0.2 sleep 60; exit $?"], [], ("timeout_command", HIGH, "timeout"), None),
	"a closed pipe": (["bash", "-c", "set -o pipefail; yes | head -1 >/dev/null"], [], ("broken_pipe", HIGH, "yes"), None),
	"a closed pipe before another failure": (["bash", "-c", "yes | head -1 >/dev/null; exit 4"], [], ("exit_nonzero", None, "bash"), None),
	"a status that timeout passed on": (["timeout", "60", "sh", "-c", "exit 124"], [], ("exit_nonzero", MEDIUM, "sh"), None),
	"its own SIGKILL": (["sh", "-c", "kill -KILL $$"], [], ("abort", HIGH, "sh"), ("unknown", LOW, "sh")),
	"its own SIGSEGV": (["sh", "-c", "kill -SEGV $$"], [], ("abort", HIGH, "sh"), ("segfault", MEDIUM, "sh")),
	"an error that it handled": (["sh", "-c", "sh -c 'echo x >/dev/full'; exit 2"], ["--syscalls"], ("disk_full", MEDIUM, "sh"),
				     ("disk_full", None, "sh")),
	"a SIGKILL of a worker by its parent": (["bash", "-c", "sleep 60 & kill -KILL $!; wait $!; exit 1"], [], ("exit_nonzero", None, "bash"),
						("unknown", LOW, None)),
	"an error of the program that a shell became": (["bash", "-c", "nosuchcommand 2>/dev/null || true; exec sh -c 'exit 1'"], [], ("exit_nonzero", None, "sh"),
							None),
	"timeout with SIGKILL": (["timeout", "-s", "KILL", "0.2", "sleep", "9"], [], ("timeout_command", HIGH, "timeout"), ("unknown", LOW, None)),
	"timeout that kills after SIGTERM": (["timeout", "-k", "0.2", "0.2", "sh", "-c", "trap '' TERM; sleep 9; sleep 9"], [],
					     ("timeout_command", HIGH, "timeout"), ("unknown", LOW, None)),
	"an error that it took": (["/usr/bin/python3", "-c", "try: open('/dev/full', 'wb', 0).write(b'x')\nexcept OSError: raise SystemExit(4)"], ["--flight-recorder"],
				  ("disk_full", MEDIUM, "python3"), ("exit_nonzero", None, None)),
	"nothing": (["true"], [], ("ok", HIGH, None), None),
}


@pytest.mark.parametrize("death", DEATHS)
def test_the_cause_of_a_staged_death_is_found(stage, death):
	command, options, as_root, as_plain = DEATHS[death]
	(stage.place / "Broken").write_text("all:\n\tfalse\n", encoding="ascii")
	stage(*command, options=options)
	check(stage, *(as_plain if stage.user == "nobody" and as_plain else as_root))


def commands_of(found):
	return [item["command"] for item in found["advice"]]


def test_what_was_recorded_already_is_not_advised(stage):
	out = stage.place / "folder"
	calls = "--flight-recorder" if stage.user == "root" else "--syscalls"
	stage("sh", "-c", "exit 3")
	assert commands_of(check(stage, "exit_nonzero")) == ["proctor run --out DIR --capture %s -- COMMAND" % calls]
	stage("sh", "-c", "exit 3", options=[calls])
	assert commands_of(check(stage, "exit_nonzero")) == ["proctor run --out DIR --capture -- COMMAND"]
	stage("sh", "-c", "exit 3", options=["--out", str(out), "--capture"])
	(advice,) = check(stage, "exit_nonzero")["advice"]
	assert advice["command"] == "proctor run %s -- COMMAND" % calls and "see stderr.log in its run folder" in advice["text"]
	stage("sh", "-c", "exit 3", options=[calls, "--out", str(out), "--capture"])
	(advice,) = check(stage, "exit_nonzero")["advice"]
	assert not advice["command"] and "stderr.log" in advice["text"]
	stage(DIE, "segfault")
	# --syscalls counts, and does not keep what came last, which needs BPF.
	last = ["proctor run %s -- COMMAND" % calls] if stage.user == "root" else []
	assert commands_of(check(stage, "segfault")) == ["ulimit -c unlimited", *last]
	assert stage.user == "root" or "did last" not in stage.ask()
	stage(DIE, "segfault", options=[calls])
	assert commands_of(check(stage, "segfault")) == ["ulimit -c unlimited"]


@pytest.mark.needs_root
@pytest.mark.parametrize("command", [["/usr/bin/python3", "-c", EAT], ["sh", "-c", "/usr/bin/python3 -c '%s' || exit 1" % EAT]],
			 ids=["itself", "a worker"])
def test_memory_beyond_the_own_limit_is_the_cause_whoever_had_it(run, tmp_path, command):
	stage = Stage("root", run, tmp_path)
	done = stage(*command, options=["--mem", "100M"])
	found = check(stage, "oom_own_limit", HIGH, "python3")
	assert found["advice"][0]["command"] == "proctor run --mem 256M -- COMMAND"
	assert "chosen by the kernel's OOM killer" in stage.ask() and "proctor why" in done.stderr


@pytest.mark.needs_root
def test_the_next_request_is_what_earlier_runs_needed(run, tmp_path):
	hungry = ["/usr/bin/python3", "-c", "import sys, time; x = bytearray(300 << 20); time.sleep(0.3)"]
	stage = Stage("root", run, tmp_path)
	stage(*hungry, options=["--name", "hungry"])
	done = stage(*hungry, options=["--name", "hungry", "--mem", "100M"])
	asked = re.search(r"--mem (\d+)M", check(stage, "oom_own_limit", HIGH, "python3")["advice"][0]["command"])
	assert 320 <= int(asked[1]) <= 512
	assert re.search(r"next +--mem %sM, largest of 2 runs 30\d MiB" % asked[1], done.stderr)


@pytest.mark.needs_root
def test_memory_beyond_the_limit_of_a_group_around_it_is_the_cause(stage, limited):  # noqa: F811
	eat = ["/usr/bin/python3", "-c", "bytearray(700 << 20)"]
	stage.runner.group = limited
	assert stage(*eat).returncode == -signal.SIGKILL
	check(stage, "oom_outer_limit", HIGH, "python3")


@pytest.mark.parametrize("tier,found", [("bpf", ("killed_by_process", HIGH)), ("connector", ("unknown", LOW))])
def test_a_kill_from_outside_names_its_sender_where_that_can_be_seen(run, tmp_path, tier, found):
	stage = Stage("root", run, tmp_path)
	launcher = subprocess.Popen(run.line("sleep", "60", options=["--tier", tier]), env=run.env, stderr=subprocess.PIPE, text=True)
	subprocess.run(["/bin/kill", "-KILL", str(command_of(launcher))], check=True)
	launcher.communicate(timeout=60)
	answer = check(stage, *found, "sleep")
	senders = [item for item in answer["evidence"] if item["source"] == "signal"]
	assert [item["value"].split(" (")[0] for item in senders] == (["from kill"] if tier == "bpf" else [])


@pytest.mark.parametrize("tier", ["bpf", "connector"])
def test_a_signal_that_the_command_handled_is_the_cause(run, tmp_path, tier):
	stage = Stage("root", run, tmp_path)
	script = "trap 'exit 143' TERM; echo on; while :; do sleep 0.05; done"
	launcher = subprocess.Popen(run.line("bash", "-c", script, options=["--tier", tier]), env=run.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
				    text=True)
	assert launcher.stdout.readline() == "on\n"
	subprocess.run(["/bin/kill", "-TERM", str(launcher.pid)], check=True)
	launcher.communicate(timeout=60)
	check(stage, "killed_by_process", HIGH, "bash")


@pytest.mark.parametrize("tier", ["bpf", "connector"])
def test_timeout_around_the_run_is_the_cause(run, tmp_path, tier):
	stage = Stage("root", run, tmp_path)
	run.to_the_end(["timeout", "1", *run.line("sleep", "60", options=["--tier", tier])])
	check(stage, "timeout_command", HIGH, "sleep")


@pytest.mark.needs_root
def test_a_daemon_that_frees_memory_is_recognised(run, tmp_path):
	stage = Stage("root", run, tmp_path)
	shutil.copy("/bin/kill", tmp_path / "earlyoom")
	launcher = subprocess.Popen(run.line("sleep", "60"), env=run.env, stderr=subprocess.PIPE, text=True)
	subprocess.run([tmp_path / "earlyoom", "-KILL", str(command_of(launcher))], check=True)
	launcher.communicate(timeout=60)
	check(stage, "oom_daemon", HIGH, "sleep")


@pytest.mark.parametrize("tier", ["bpf", "connector"])
@pytest.mark.parametrize("key,cause", [("\x03", "terminal_interrupt"), (None, "terminal_hangup")], ids=["Ctrl-C", "closed"])
def test_the_terminal_is_the_cause(run, tmp_path, tier, key, cause):
	stage = Stage("root", run, tmp_path)
	line = run.line("sh", "-c", "echo on; exec sleep 60", options=["--tier", tier])
	with Terminal(line, run.env) as tty:
		tty.expect("on\r\n")
		if key:
			tty.type(key)
		else:
			tty.hang_up()
		wait_for(lambda: read_store_so_far(run.proctor.state_dir, "SELECT 1 FROM jobs WHERE status != 'running'"))
	check(stage, cause, HIGH if tier == "bpf" or key else None)


@pytest.fixture
def small_disk(stage):
	"""mount(options): a file system of that kind, in which the job runs."""
	if os.geteuid() != 0:
		pytest.skip("NOT RUN: needs root to mount a file system")
	place = Path(SCRATCH) / ("disk-%d" % os.getpid())
	place.mkdir()
	place.chmod(0o777)

	def mount(options):
		subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], check=True)
		place.chmod(0o777)
		shutil.copy(PROG_DIR / "die", place / "die")
		return place

	yield mount
	subprocess.run(["umount", str(place)], check=True)
	place.rmdir()


@pytest.mark.needs_root
@pytest.mark.parametrize("options,way,cause", [("size=2m", "fill", "disk_full"), ("nr_inodes=20", "files", "inodes_full"),
					       ("size=2m", "files", "read_only_fs")], ids=["full", "inodes", "read-only"])
def test_what_a_disk_lacks_is_likely_by_its_state_and_proven_by_the_calls(stage, small_disk, options, way, cause):
	place = small_disk(options)
	if cause == "read_only_fs":
		subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
	if stage.user == "nobody":
		stage.runner.before = ["env", "-C", str(place)]
		stage("./die", way)
	else:
		stage("./die", way, cwd=place)
	check(stage, cause, MEDIUM, "die")
	if stage.user == "root":  # system calls are counted by BPF
		for path in place.glob("f*"):
			path.unlink()
		stage("./die", way, cwd=place, options=["--syscalls"])
		check(stage, cause, HIGH, "die")


@pytest.mark.needs_root
@pytest.mark.parametrize("command", [["dd", "if=/dev/zero", "of={}/new/x", "bs=64k", "count=99"], ["sh", "-c", "cat /dev/zero >{}/new/x"]],
			 ids=["its argument", "a script"])
def test_a_full_disk_is_likely_where_the_command_names_a_file_on_it(stage, small_disk, command):
	place = small_disk("size=2m")
	(place / "new").mkdir(mode=0o777)
	(place / "new").chmod(0o777)
	stage(*[word.format(place) for word in command])
	check(stage, "disk_full", MEDIUM)
	(place / "new" / "x").chmod(0o644)
	os.utime(place / "new" / "x", (0, 0))
	stage("grep", "-q", "no such line", place / "new" / "x")
	check(stage, "exit_nonzero", MEDIUM)


@pytest.mark.needs_root
def test_a_read_only_file_system_is_likely_where_the_command_names_a_new_file_on_it(stage, small_disk):
	place = small_disk("size=2m")
	subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
	stage("touch", place / "new")
	check(stage, "read_only_fs", MEDIUM)
	stage("grep", "-q", "no such line", place / "die")
	check(stage, "exit_nonzero", MEDIUM)


def test_open_files_that_reached_their_limit_are_likely_to_be_the_cause(stage):
	stage("sh", "-c", "ulimit -n 64; (sleep 2; echo) | ./die fds")
	check(stage, "fds_exhausted", MEDIUM, "die")


def test_a_lost_recorder_and_a_lost_machine_are_distinguished(run, tmp_path):
	stage = Stage("root", run, tmp_path)
	launcher = subprocess.Popen(run.line("sleep", "60"), env=run.env, stderr=subprocess.DEVNULL)
	pid = command_of(launcher)
	store = run.proctor.env["PROCTOR_STATE_DIR"]
	wait_for(lambda: run.is_recorded() and read_store(store, "SELECT 1 FROM recorder WHERE boot_id IS NOT NULL"))
	launcher.kill()
	launcher.wait()
	os.kill(pid, signal.SIGKILL)
	check(stage, "recorder_lost", HIGH)
	subprocess.run(["sqlite3", store + "/proctor.db", "UPDATE recorder SET boot_id = '00000000-0000-0000-0000-000000000000'"], check=True)
	found = check(stage, "machine_lost")
	assert "started again" in " ".join(item["text"] for item in found["evidence"])


def test_a_page_has_the_cause_the_evidence_and_what_to_do(run, tmp_path):
	stage = Stage("root", run, tmp_path)
	done = stage("sh", "-c", "./die segfault; exit 1", options=["--flight-recorder"])
	assert "FAILED after" in done.stderr and "exit 1: die (pid " in done.stderr and ") SIGSEGV" in done.stderr
	page = stage.ask()
	for words in ("FAILED: invalid memory access", "confidence medium", "cause     segfault", "Evidence", "the command ended", "Used the most",
		      "Last calls of die", "What to do", "ulimit -c unlimited"):
		assert words in page, page


def test_why_of_a_running_job_shows_what_it_waits_for_and_no_cause(run, tmp_path):
	stage = Stage("root", run, tmp_path)
	launcher = subprocess.Popen(run.line("sleep", "60"), env=run.env, stderr=subprocess.PIPE)
	command_of(launcher)
	wait_for(run.is_recorded)
	found = stage.why()
	assert (found["cause"], found["confidence"], found["how_it_ended"]) == (None, None, "running")
	launcher.terminate()
	launcher.communicate()
