# SPDX-License-Identifier: MIT
"""`proctor run` as it should be: not there. What the command sees, and what its caller sees."""
import json
import os
import re
import resource
import signal
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import TIERS
from runkit import LOAD, wait_for

AT_A_TIME = 6
HARMLESS = {signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGCONT, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
FATAL = sorted(set(signal.valid_signals()) - HARMLESS)
# What a process is given by whoever starts it, and gives on.
GIVEN = re.compile(r"^(Umask|SigBlk|SigIgn|SigCgt|NoNewPrivs|Seccomp|Cpus_allowed|Groups|CapEff|CapInh|CapAmb|CapBnd|THP_enabled):.*$", re.M)
DESCRIBE = "cat /proc/self/status /proc/self/limits; nice; pwd; ulimit -a; cat /proc/self/oom_score_adj /proc/self/timerslack_ns"


def described(text):
	"""The lines of /proc/self/status that were inherited, and all of the rest."""
	status, rest = text.split("Limit  ", 1)
	return sorted(found.group(0) for found in GIVEN.finditer(status)) + rest.splitlines()


# ---- ends --------------------------------------------------------------------------------------


def test_each_fatal_signal_of_the_command_is_ours_too(run):
	def die(signo):
		return run("sh", "-c", "kill -%d $$" % signo, options=["--name", "s%d" % signo])

	run("true", options=["--name", "first"])
	with ThreadPoolExecutor(AT_A_TIME) as pool:
		ends = list(pool.map(die, FATAL))
	assert {signo: end.returncode for signo, end in zip(FATAL, ends)} == {signo: -signo for signo in FATAL}
	assert all(end.stdout == "" for end in ends)
	stored = {row["type"]: row for row in run.jobs("type <> 'first'")}
	assert set(stored) == {"s%d" % signo for signo in FATAL}, [end.stderr for end in ends if end.stderr]
	for signo in FATAL:
		row = stored["s%d" % signo]
		assert (row["signal_num"], row["exit_code"], row["status"], row["result"]) == (signo, None, "failed", "signal")


def core_name(path):
	"""The name in a core file: of the process that dumped it."""
	data = path.read_bytes()
	at = data.index(struct.pack("<III4s", 5, 136, 3, b"CORE"))  # NT_PRPSINFO of 64-bit machines
	return data[at + 20 + 40:at + 20 + 56].split(b"\0")[0].decode()


@pytest.mark.parametrize("allowed", [True, False])
def test_a_core_is_the_commands_and_the_only_one(run, tmp_path, allowed):
	def allow_core():
		resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY if allowed else 0,) * 2)

	dirs = [tmp_path / "bare", tmp_path / "run"]
	for place, start in zip(dirs, (run.bare, run)):
		place.mkdir()
		done = start("sh", "-c", "kill -ABRT $$", cwd=place, preexec_fn=allow_core)
		assert done.returncode == -signal.SIGABRT, done.stderr
	bare, ours = ([path.name.split(".")[0] for path in place.iterdir()] for place in dirs)
	assert bare == ours
	assert run.job()["core_dumped"] == int(bool(allowed and (bare or "|" in Path("/proc/sys/kernel/core_pattern").read_text())))
	for path in dirs[1].iterdir():
		assert core_name(path) == "sh"


def test_processes_that_could_not_run_their_command_ended_as_it_would_have(run, tmp_path):
	plain = tmp_path / "plain"
	plain.write_text("not a program")
	lines = ["%s %s -- %s" % (run.proctor.binary, verb, command) for verb in ("sheet", "phase x") for command in ("/no/such/command", plain)]
	assert run("sh", "-c", "; ".join(lines) + "; exit 0").returncode == 0
	rows = run.sql("SELECT exit_code, count(*) AS n FROM process_events WHERE event_type = 'exit' AND exit_code <> 0 GROUP BY 1")
	assert {row["exit_code"]: row["n"] for row in rows} == {126: 4, 127: 4}  # proctor's process, and the one it made for the command


def test_what_cannot_be_started_is_reported_by_its_status(run, tmp_path):
	plain = tmp_path / "plain"
	plain.write_text("#!/bin/sh\n")
	broken = tmp_path / "broken"
	broken.write_text("#!/no/such/interpreter\n")
	broken.chmod(0o755)
	for command, status in (("no-such-command-here", 127), (tmp_path / "absent", 127), (broken, 127), (plain, 126), (tmp_path, 126), ("", 127)):
		done = run(command)
		assert (done.returncode, done.stdout) == (status, ""), done.stderr
		assert done.stderr.startswith("proctor: %s: " % (command or "''")) and done.stderr.count("\n") == 1


@pytest.mark.parametrize("tier", TIERS)
def test_what_cannot_be_started_is_a_job_that_failed(run, tmp_path, tier):
	(tmp_path / "train.sh").write_text("#!/bin/sh\n")
	done = run("train.sh", options=["--tier", tier, "--job-id", "absent", "--out", "folder"], cwd=tmp_path)
	assert (done.returncode, done.stderr) == (127, "proctor: train.sh: command not found; ./train.sh is not executable: chmod +x it\n")
	assert run("./train.sh", options=["--tier", tier], cwd=tmp_path).returncode == 126
	first, second = run.jobs()
	for job, status in ((first, 127), (second, 126)):
		assert (job["status"], job["exit_code"], job["processes"]) == ("failed", status, 0)
	assert (first["job_id"], run.processes()) == ("absent", [])
	assert json.loads((tmp_path / "folder/summary.json").read_text())["exit_code"] == 127
	listed = run.proctor("ls").stdout
	assert "command not found" in listed and "cannot be run" in listed
	assert "train.sh: command not found" in run.proctor("report", "absent").stdout


def test_wrong_use_is_our_own_failure(run):
	wrong = (["--no-such-option"], ["--interval", "0.01"], ["--tier", "x"], ["--pids", "99999999999"], ["--json"], ["--out", ""], ["--out="],
		 ["--state-dir", ""], ["--config", ""], ["--grace", "."])
	for line in (["run"], *(["run", *options, "true"] for options in wrong)):
		done = run.to_the_end([run.proctor.binary, *line])
		assert (done.returncode, done.stdout) == (125, "")
		assert done.stderr.startswith("proctor: run: ") and "\n" not in done.stderr[:-1]
	assert not run.proctor.state_dir.exists()


def test_options_end_where_the_command_begins(run):
	for line in (["run", "--", "echo", "-n", "--help"], ["run", "echo", "-n", "--help"], ["run", "-q", "echo", "-n", "--", "--help"]):
		done = run.to_the_end([run.proctor.binary, *line])
		assert (done.returncode, done.stdout) == (0, " ".join(line[line.index("-n") + 1:]))


# ---- what the command sees ---------------------------------------------------------------------


def give_much(umask=0o027, nice=3):
	"""A process that was given more than the usual."""
	os.umask(umask)
	os.nice(nice)
	resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
	resource.setrlimit(resource.RLIMIT_STACK, (4 << 20, 16 << 20))
	resource.setrlimit(resource.RLIMIT_CORE, (4096, 8192))
	signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGRTMIN + 3])
	signal.signal(signal.SIGINT, signal.SIG_IGN)
	signal.signal(signal.SIGQUIT, signal.SIG_IGN)
	signal.signal(signal.SIGCHLD, signal.SIG_IGN)
	signal.signal(signal.SIGTSTP, signal.SIG_IGN)


@pytest.mark.parametrize("given", [None, give_much], ids=["usual", "much"])
def test_the_command_is_given_what_we_were_given(run, tmp_path, given):
	how = {"preexec_fn": given, "cwd": tmp_path, "restore_signals": True}
	bare, ours = (start("sh", "-c", DESCRIBE, **how) for start in (run.bare, run))
	assert (bare.stderr, ours.stderr) == ("", "")
	assert described(ours.stdout) == described(bare.stdout)


@pytest.mark.parametrize("restored", [True, False], ids=["default", "ignored"])
def test_a_broken_pipe_ends_the_command_as_it_would_without_us(run, restored):
	pipeline = "%s | head -1"
	for yes in ("yes", " ".join(run.line("yes"))):
		done = run.bare("bash", "-c", pipeline % yes + "; echo ${PIPESTATUS[0]}", restore_signals=restored)
		assert done.stdout == "y\n%d\n" % (128 + signal.SIGPIPE if restored else 1)


def test_the_environment_has_our_names_and_nothing_else(run):
	env = {**run.env, "EMPTY": "", "TWO LINES": "a\nb", "PROCTOR_JOB_ID": "outer"}
	bare, ours = (start("env", "-0", env=env).stdout.split("\0") for start in (run.bare, run))
	names = {line.split("=")[0] for line in set(ours) - set(bare)}
	assert names == {"PROCTOR", "PROCTOR_JOB_ID"}
	assert set(bare) - set(ours) == {"PROCTOR_JOB_ID=outer"}
	assert len(ours) == len(set(ours))
	assert "PROCTOR_JOB_ID=%s" % run.job()["job_id"] in ours


def names_added(run, tmp_path, env, *options):
	line = [run.proctor.binary, "run", *options, "--", "env", "-0"]
	bare = run.bare("env", "-0", env=env, cwd=tmp_path).stdout.split("\0")
	done = run.to_the_end(line, env=env, cwd=tmp_path)
	assert done.returncode == 0, done.stderr
	return {text.split("=")[0]: text.split("=", 1)[1] for text in set(done.stdout.split("\0")) - set(bare)}


def test_the_state_directory_is_given_only_where_it_would_not_be_found(run, tmp_path):
	env = {k: v for k, v in run.env.items() if k != "PROCTOR_STATE_DIR"}
	usual = {**env, "STATE_DIRECTORY": str(tmp_path / "usual"), "XDG_STATE_HOME": str(tmp_path)}
	assert set(names_added(run, tmp_path, usual)) == {"PROCTOR", "PROCTOR_JOB_ID"}
	added = names_added(run, tmp_path, usual, "--state-dir", str(tmp_path / "other"))
	assert added["PROCTOR_STATE_DIR"] == str(tmp_path / "other") and len(added) == 3
	added = names_added(run, tmp_path, {**env, "PROCTOR_STATE_DIR": "relative"})
	assert added["PROCTOR_STATE_DIR"] == str(tmp_path / "relative") and len(added) == 3


def test_a_mark_finds_its_job_wherever_that_lives(run, tmp_path):
	env = {k: v for k, v in run.env.items() if k != "PROCTOR_STATE_DIR"}
	for how in ({"STATE_DIRECTORY": str(tmp_path / "usual")}, {"PROCTOR_STATE_DIR": "relative"}):
		line = [run.proctor.binary, "run", "--", "sh", "-c", "cd / && %s mark here" % run.proctor.binary]
		done = run.to_the_end(line, env={**env, **how}, cwd=tmp_path)
		assert (done.returncode, done.stderr) == (0, ""), how


def fds_of(start, **how):
	text = start("sh", "-c", "exec ls -l /proc/self/fd 2>/dev/null", **how).stdout
	found = dict(re.findall(r" (\d+) -> (.*)", text))
	return {fd: re.sub(r"\d+", "N", where) for fd, where in found.items()}


def test_the_command_has_the_files_it_would_have_without_us(run, tmp_path):
	extra = [os.open(tmp_path / name, os.O_CREAT | os.O_RDWR) for name in ("a", "b")]
	high = 150
	os.dup2(extra[1], high)
	given = (extra[0], high)
	bare, ours = (fds_of(start, pass_fds=given) for start in (run.bare, run))
	assert str(high) in bare and str(extra[0]) in bare
	assert ours == bare
	for fd in (*extra, high):
		os.close(fd)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_files_stay_closed(run, tmp_path, closed):
	out = tmp_path / "out"
	for name, line in (("bare", []), ("ours", run.line())):
		script = 'exec "$@" sh -c "ls /proc/self/fd >%s.%s 2>/dev/null" %s' % (out, name, closed)
		done = run.bare("sh", "-c", script, "sh", *line)
		assert done.returncode == 0, done.stderr
	# ls itself opens the directory, and dash keeps nothing else open
	assert Path("%s.ours" % out).read_text() == Path("%s.bare" % out).read_text()


def test_it_stays_in_our_group_and_session(run):
	done = run("ps", "-o", "pgid=,sid=,tty=", "-p", "$$".replace("$$", str(os.getpid())))
	mine = done.stdout.split()
	done = run("sh", "-c", "exec ps -o pgid=,sid=,tty= -p $$")
	assert done.stdout.split() == mine
	done = run("sh", "-c", "exec ps -o pgid=,ppid=,sid= -p $$", start_new_session=True)
	group, parent, session = done.stdout.split()
	assert group == parent == session  # the caller made us the leader, and the command is in our group


# ---- what its caller sees ----------------------------------------------------------------------


def test_a_reader_sees_the_end_when_the_command_closes_its_output(run, children):
	inherited_in, inherited_out = os.pipe()
	script = "exec >&- %d>&-; sleep 60" % inherited_out
	child = children.spawn(run.line("bash", "-c", script), env=run.env, stdout=subprocess.PIPE, pass_fds=[inherited_out])
	os.close(inherited_out)
	assert child.stdout.read() == b""  # comes back while the command sleeps
	assert os.read(inherited_in, 1) == b""
	assert child.poll() is None
	os.close(inherited_in)


def test_a_writer_is_informed_when_the_command_closes_its_input(run, children):
	child = children.spawn(run.line("sh", "-c", "exec <&-; echo closed; sleep 60"), env=run.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
	assert child.stdout.readline() == b"closed\n"
	with pytest.raises(BrokenPipeError):
		wait_for(lambda: os.write(child.stdin.fileno(), b"x") and False)


def test_a_stderr_that_nobody_reads_does_not_hold_up_the_end(run, children):
	unread, full = os.pipe()
	os.set_blocking(full, False)
	with pytest.raises(BlockingIOError):
		while True:
			os.write(full, bytes(4096))
	os.set_blocking(full, True)
	child = children.spawn(run.line("sh", "-c", "exit 3", options=["--summary"]), env=run.env, stderr=full)
	os.close(full)
	assert child.wait(timeout=20) == 3
	assert os.get_blocking(unread)
	os.close(unread)


def test_nothing_is_printed_unless_it_is_asked_for(run):
	for options in ((), ("-q",), ("--quiet", "--summary")):
		done = run("sh", "-c", "echo out; echo err >&2; exit 7", options=options)
		assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n")
	done = run("sh", "-c", "echo out; exit 7", options=["--summary"])
	assert (done.returncode, done.stdout) == (7, "out\n")
	assert done.stderr.startswith("proctor  sh") and "exit 7" in done.stderr


def test_a_quiet_run_without_a_state_directory_reports_that_nothing_is_stored(run, tmp_path):
	(tmp_path / "file").write_text("")
	line = run.line("sh", "-c", "exit 7", options=["--state-dir", tmp_path / "file"])
	assert "the job runs unrecorded" in run.to_the_end(line).stderr
	done = run.to_the_end(run.line("sh", "-c", "exit 7", options=["-q", "--state-dir", tmp_path / "file", "--out", tmp_path / "file/out"]))
	assert done.returncode == 7 and "the job runs unrecorded" in done.stderr


@pytest.mark.parametrize("env, config, options, shown", [
	({"PROCTOR_SUMMARY": "1"}, "", [], True),
	({"PROCTOR_SUMMARY": ""}, "", [], False),
	({}, "run_summary = true", [], True),
	({"PROCTOR_SUMMARY": "0"}, "run_summary = true", [], False),
	({"PROCTOR_SUMMARY": "false"}, "run_summary = true", [], False),
	({"PROCTOR_SUMMARY": "on"}, "run_summary = false", [], True),
	({"PROCTOR_SUMMARY": "1"}, "run_summary = false", [], True),
	({"PROCTOR_SUMMARY": "0"}, "run_summary = false", ["--summary"], True),
	({"PROCTOR_SUMMARY": "1"}, "run_summary = true", ["--quiet"], False),
])
def test_the_block_at_the_end_can_be_turned_on_for_ci(run, tmp_path, env, config, options, shown):
	file = tmp_path / "proctor.conf"
	file.write_text("[profiler]\n" + config + "\n")
	done = run("true", options=["--config", file, *options], env={**run.env, **env})
	assert done.returncode == 0 and ("ok in" in done.stderr) == shown, done.stderr
	assert shown or done.stderr == ""


def test_it_runs_under_make_and_xargs(run, tmp_path):
	makefile = "all: a b c d e f\n\n%%:\n\t+@%s sh -c 'echo $@ >$@.made'\n" % " ".join(run.line())
	(tmp_path / "Makefile").write_text(makefile)
	done = run.bare("make", "-j3", "all", cwd=tmp_path)
	assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
	assert len(list(tmp_path.glob("*.made"))) == 7
	done = run.bare("xargs", "-P", "3", "-n", "1", *run.line("sh", "-c", "exit $1", "sh"), input="0\n0\n4\n0\n", stdin=None)
	assert done.returncode == 123  # xargs's word for a command that failed
	assert sorted(row["exit_code"] for row in run.jobs()) == [0] * 10 + [4]


def test_it_runs_with_nothing_as_under_cron(run):
	script = 'exec "$@" <&- >&- 2>&-'
	done = run.bare("sh", "-c", script, "sh", *run.line("/bin/sh", "-c", "exit 9"), env={"PROCTOR_STATE_DIR": str(run.proctor.state_dir)},
			start_new_session=True)
	assert (done.returncode, done.stdout, done.stderr) == (9, "", "")
	assert run.job()["exit_code"] == 9


def test_a_job_in_a_job_is_its_child(run):
	inner = " ".join(run.line("sh", "-c", "exit\\ 5", options=["--name", "inner"]))
	done = run("sh", "-c", "%s; echo $?" % inner, options=["--name", "outer"])
	assert (done.returncode, done.stdout) == (0, "5\n")
	outer, inner = (run.job("type = '%s'" % name) for name in ("outer", "inner"))
	assert (inner["parent"], inner["exit_code"], inner["processes"]) == (outer["job_id"], 5, 1)
	assert outer["parent"] is None


@pytest.mark.needs_root
@pytest.mark.parametrize("kind", [["--pid", "--fork", "--mount-proc"], ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]], ids=["root", "user"])
@pytest.mark.tier()  # what there is within
def test_it_runs_in_a_container(run, kind):
	done = run.bare("unshare", *kind, *run.line("sh", "-c", "sleep 2; exit 6", options=["--summary"]))  # longer than a tick takes
	assert (done.returncode, done.stdout) == (6, ""), done.stderr
	job = run.job()
	assert (job["exit_code"], job["processes"]) == (6, 2)
	first, second = (row["exit_code"] for row in run.processes())
	assert first == 6
	assert second == (0 if job["processes_quality"] == "exact" else None)  # by samples alone only its parent knows


def test_a_program_of_ours_keeps_its_own_signal_handling(run):
	script = "import signal, sys; sys.stdout.write(repr([signal.getsignal(s) for s in (2, 13, 17)]))"
	bare, ours = (start(sys.executable, "-c", script) for start in (run.bare, run))
	assert ours.stdout == bare.stdout
