# SPDX-License-Identifier: MIT
"""The last system calls of processes that failed, as run --flight-recorder keeps them: against strace's own lines."""
import json
import os
import re
import signal

import pytest

from conftest import wait_for
from runkit import PROG_DIR, Plain, command_of

CRASH = str(PROG_DIR / "crash")
ADDRESS = re.compile(r"0x[0-9a-f]{4,}")
INODE = re.compile(r":\[\d+\]")
# Calls that strace shows with the contents of memory, or with the names of more flags.
OTHERWISE = {"segv": {"access", "connect", "pipe2"}, "abort": {"access", "connect", "pipe2", "rt_sigprocmask"}, "exit": {"access", "connect", "pipe2"}}


@pytest.fixture
def record(run, tmp_path):
	"""record(COMMAND…): the processes whose calls were kept, as report --json has them."""

	def take(*command, options=("--flight-recorder",), **how):
		run(*command, options=options, cwd=tmp_path, **how)
		return kept(run)

	return take


def kept(run):
	report = json.loads(run.proctor("report", "--json").stdout)
	return report["last_calls"]


def texts(process):
	return [call["text"] for call in process["calls"]]


def plain(text, pid):
	"""Without what differs from run to run."""
	return INODE.sub(":[N]", ADDRESS.sub("0x", text)).replace(str(pid), "PID")


def strace(run, tmp_path, *command):
	"""Its lines, without what it shows and we do not: contents, the meaning of errors, what the result is."""
	run.bare("strace", "-f", "-y", "-a", "0", "-o", tmp_path / "trace", *command, cwd=tmp_path)
	for line in (tmp_path / "trace").read_text(encoding="utf-8", errors="replace").splitlines():
		pid, text = line.split(None, 1)
		text = re.sub(r" \([A-Z][^()]*\)$", "", text)
		text = re.sub(r"= (\d+)<.*>$", r"= \1", text).replace("AT_FDCWD<%s>" % tmp_path, "AT_FDCWD")
		text = re.sub(r'^((?:read|write)\(\d+<[^>]*>, )".*"(?:\.\.\.)?, ', r"\1..., ", text)
		if re.match(r"\w+\(", text):
			yield plain(text, pid)


def name_and_result(line):
	"""openat … = 3, -1 ENOENT, 0x, ?"""
	name, result = re.match(r"(\w+)\(.* = (-1 E\w+|-?\w+|\?)", line).groups()
	return name, ADDRESS.sub("0x", result)


@pytest.mark.needs_root
@pytest.mark.parametrize("way", ["segv", "abort", "exit"])
def test_strace_shows_the_same_calls(record, run, tmp_path, way):
	process, = record(CRASH, way)
	expected = list(strace(run, tmp_path, CRASH, way))
	ours = [plain(text, process["pid"]) for text in texts(process)]
	assert len(ours) > 30  # all of them: the first is that by which the program was run
	assert ours[0].startswith('execve("%s", ...' % CRASH)
	assert [name_and_result(line) for line in ours] == [name_and_result(line) for line in expected]
	begin = next(i for i, line in enumerate(ours) if "passwd" in line)
	different = {expected[i]: line for i, line in enumerate(ours) if i >= begin and line != expected[i]}
	assert {re.match(r"(\w+)", line)[1] for line in different if "/made" not in line} == OTHERWISE[way]


@pytest.mark.needs_root
def test_arguments_are_decoded(record):
	process, = record(CRASH, "exit")
	found = texts(process)
	first = found.index('openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3')
	assert found[first + 1] == "read(3</etc/passwd>, ..., 512) = 512"
	assert re.fullmatch(r"lseek\(3</etc/passwd>, -10, SEEK_END\) = \d+", found[first + 2])
	assert found[first + 3:first + 6] == ["dup(3</etc/passwd>) = 4", "close(3</etc/passwd>) = 0", "read(4</etc/passwd>, ..., 5) = 5"]
	assert found[first + 6] == 'openat(AT_FDCWD, "made", O_RDWR|O_CREAT|O_TRUNC, 0640) = 3'
	assert re.fullmatch(r"write\(3</.*/made too>, ..., 5\) = 5", found[first + 7])
	assert found[first + 8:first + 10] == ['rename("made", "made too") = 0', 'unlink("made too") = 0']
	assert 'access("/nonexistent/\\x1b[31mred\\xff \\"x\\"", R_OK|W_OK) = -1 ENOENT' in found
	assert "chdir(0x10) = -1 EFAULT" in found
	assert any(re.fullmatch(r"write\(6<pipe:\[\d+\]>, ..., 1\) = 1", text) for text in found)
	begin = found.index("socket(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC, 0) = 7")
	assert found[begin + 1:begin + 3] == ['connect(7, "/nonexistent/socket", 110) = -1 ENOENT', "connect(7, 127.0.0.1:9, 16) = -1 EINVAL"]
	assert found[-2:] == ["close(77) = -1 EBADF", "exit_group(3) = ?"]
	assert (process["exit_code"], process["signal_num"], process["name"]) == (3, None, "crash")
	calls = process["calls"]
	assert calls[-2].items() >= {"call": "close", "result": -1, "error": "EBADF"}.items()
	assert calls[-1].items() >= {"call": "exit_group", "result": None, "error": None, "seconds": None}.items()
	assert [c["timestamp"] for c in calls] == sorted(c["timestamp"] for c in calls)


@pytest.mark.needs_root
def test_only_the_last_calls_are_kept(record):
	process, = record(CRASH, "many", options=["--flight-recorder=20"])
	assert texts(process) == [f"close({n}) = -1 EBADF" for n in range(1981, 2000)] + ["exit_group(1) = ?"]
	process, = record(CRASH, "many", options=["--flight-recorder=128"])
	assert texts(process) == [f"close({n}) = -1 EBADF" for n in range(1873, 2000)] + ["exit_group(1) = ?"]


@pytest.mark.needs_root
def test_a_long_path_is_cut(record):
	process, = record(CRASH, "long")
	path = re.fullmatch(r'chdir\("(/p+)"\.\.\.\) = -1 ENAMETOOLONG', texts(process)[-2])[1]
	assert 100 < len(path) < 600


@pytest.mark.needs_root
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="this gate is that of x86")
def test_calls_of_32_bits_have_their_own_arguments(record):
	process, = record(CRASH, "ia32")
	assert texts(process)[-2:] == ['open("/nonexistent/ia32", O_RDONLY) = -1 ENOENT', "exit_group(1) = ?"]


@pytest.mark.needs_root
def test_calls_before_and_after_another_program_is_run_are_one_list(record):
	process, = record("sh", "-c", f"cd /usr; cd /proc; exec {CRASH} many", options=["--flight-recorder=128"])
	assert process["name"] == "crash"
	process, = record("sh", "-c", f"cd /usr; cd /proc; exec {CRASH} long", options=["--flight-recorder=128"])
	found = texts(process)
	begin = found.index(f'execve("{CRASH}", ..., ...) = 0')
	assert found.index('chdir("/usr") = 0') < found.index('chdir("/proc") = 0') < begin < found.index("exit_group(1) = ?")


@pytest.mark.needs_root
def test_a_killed_process_shows_the_call_it_was_in(run, children):
	ready, signal_ready = os.pipe()
	asked, ask = os.pipe()
	launcher = children.spawn(run.line(CRASH, "block", options=["--flight-recorder"]), env=run.env, stdin=asked, stdout=signal_ready)
	assert os.read(ready, 1) == b"\n"
	pid = command_of(launcher)
	wait_for(lambda: open(f"/proc/{pid}/syscall", encoding="ascii").read().startswith("0 "))
	os.kill(pid, signal.SIGKILL)
	launcher.wait()
	for end in (ready, signal_ready, asked, ask):
		os.close(end)
	process, = kept(run)
	assert process["signal_num"] == signal.SIGKILL
	assert re.fullmatch(r"read\(0<pipe:\[\d+\]>, \.\.\., 1 <unfinished>", texts(process)[-1])
	assert process["calls"][-1]["seconds"] is None


@pytest.mark.needs_root
def test_a_thread_that_crashes_is_shown_with_what_the_others_wait_for(record, run):
	process, = record(CRASH, "thread")
	assert process["signal_num"] == signal.SIGSEGV
	by_thread = {}
	for call in process["calls"]:
		by_thread.setdefault(call["tid"], []).append(call["text"])
	lasts = [calls[-1] for tid, calls in by_thread.items() if tid != process["pid"]]
	assert sorted(re.sub(r"\(0x.*", "", text) for text in lasts) == ["close(4711) = -1 EBADF"] + ["futex"] * 3
	assert all(text.endswith(" <unfinished>") for text in lasts if text.startswith("futex"))
	crashed, = [tid for tid, calls in by_thread.items() if calls[-1].startswith("close")]
	assert f"[{crashed}] close(4711) = -1 EBADF\n" in run.proctor("report").stdout


@pytest.mark.needs_root
def test_children_are_recorded_each_by_itself(record):
	child, = record(CRASH, "vfork")  # the parent ended with 0
	assert child["exit_code"] == 5
	assert texts(child)[-2:] == ["close(81) = -1 EBADF", "exit_group(5) = ?"]


HANGS = """
mkfifo never
{crash} block <>never >/dev/null 2>&1 &
echo $! >hanging
until grep -q '^0 ' /proc/$!/syscall; do sleep 0.01; done
{crash} spin >/dev/null 2>&1 &
echo $! >spinning
until [ "$(cut -d' ' -f14-15 /proc/$!/stat)" != '0 0' ]; do sleep 0.01; done
exit 4
"""


@pytest.fixture
def left(record, tmp_path):
	"""The processes whose calls were kept of a job that failed and left two behind, by what they do."""
	yield {name: process for process in record("sh", "-c", HANGS.format(crash=CRASH)) for name in ("hanging", "spinning", "shell") if is_called(tmp_path, name, process)}
	for name in ("hanging", "spinning"):
		os.kill(int((tmp_path / name).read_text(encoding="ascii")), signal.SIGKILL)


def is_called(place, name, process):
	return process["name"] == "sh" if name == "shell" else (place / name).read_text(encoding="ascii") == f"{process['pid']}\n"


@pytest.mark.needs_root
def test_processes_that_still_run_when_the_job_fails_show_what_they_do(left, run):
	hanging, spinning, shell = left["hanging"], left["spinning"], left["shell"]
	assert shell["exit_code"] == 4
	assert (hanging["exit_code"], hanging["signal_num"], hanging["ended_at"]) == (None, None, None)
	assert re.fullmatch(r"read\(0</.*/never>, \.\.\., 1 <unfinished>", texts(hanging)[-1])
	assert f'execve("{CRASH}", ..., ...) = 0' in texts(hanging)
	# It calls without end: what it wrote meanwhile is missing, none is a mixture of two.
	calls = [re.fullmatch(r"lseek\((\d+), (\d+), SEEK_SET(?:\) = -1 EBADF| <unfinished>)", text) for text in texts(spinning) if text.startswith("lseek")]
	assert len(calls) >= 16
	assert all(call and call[1] == call[2] for call in calls)
	shown = run.proctor("report").stdout
	assert f"Last calls of crash {spinning['pid']}, still running\n" in shown
	assert f"Last calls of sh {shell['pid']} before exit 4\n" in shown
	assert f"Last calls of crash {hanging['pid']}, still running\n" in run.proctor("report", "--last-calls").stdout
	assert f"Last calls of crash {spinning['pid']}, still running\n" in run.proctor("why").stdout


@pytest.mark.needs_root
def test_when_the_time_is_over_the_calls_are_recorded_before_the_signal(record, run):
	command, sleep = sorted(record("sh", "-c", "trap 'exit 0' TERM; sleep 1000 & wait", options=["--flight-recorder", "--time", "300ms"]), key=lambda p: p["pid"])
	assert (command["exit_code"], sleep["signal_num"]) == (0, signal.SIGTERM)
	assert re.fullmatch(r"rt_sigsuspend\(.* <unfinished>", texts(command)[-1])
	assert re.fullmatch(r"clock_nanosleep\(.* <unfinished>", texts(sleep)[-1])
	shown = run.proctor("report", "--last-calls").stdout
	assert f"Last calls of sh {command['pid']} while it ran\n" in shown
	assert f"Last calls of sleep {sleep['pid']} before SIGTERM\n" in shown


@pytest.mark.needs_root
def test_a_terminal_shows_what_a_dead_process_did_last(record, run):
	process, = record(CRASH, "segv")
	shown = run.proctor("report").stdout
	title = f"Last calls of crash {process['pid']} before SIGSEGV"
	assert title in shown
	tail = shown[shown.index(title):].splitlines()
	assert len(tail) == 1 + 8 + 1
	assert re.fullmatch(r"  \+\d\.\d{3}s  close\(77\) = -1 EBADF", tail[8])
	assert re.fullmatch(r"  … \d+ calls of 1 process are kept; see: proctor report \S+ --last-calls", tail[9])
	whole = run.proctor("report", "--last-calls").stdout
	listed = [re.sub(r" \(took .*\)$", "", line.split(None, 1)[1]) for line in whole.splitlines() if line.startswith("  +")]
	assert listed == texts(process)
	assert "\x1b" not in whole + shown
	rows = json.loads(run.proctor("sql", "--json", "SELECT text, process, signal_num FROM last_calls ORDER BY num").stdout)
	assert [row["text"] for row in rows] == texts(process)
	assert rows[0].items() >= {"process": "crash", "signal_num": signal.SIGSEGV}.items()


@pytest.mark.needs_root
def test_last_calls_are_exported(record, run):
	process, = record(CRASH, "exit")
	lines = map(json.loads, run.proctor("export", "--format", "jsonl").stdout.splitlines())
	exported = [line for line in lines if line["type"] == "last_call"]
	assert [{key: line[key] for key in process["calls"][0]} for line in exported] == process["calls"]


@pytest.mark.needs_root
def test_the_command_is_shown_with_the_processes_that_were_killed(run):
	run("sh", "-c", f"{CRASH} exit; {CRASH} segv; {CRASH} abort; {CRASH} segv; {CRASH} exit; exit 9", options=["--flight-recorder"])
	shown = re.findall(r"^Last calls of (\w+) \d+ before (\w+)", run.proctor("report").stdout, re.M)
	assert shown == [("crash", "SIGABRT"), ("crash", "SIGSEGV"), ("sh", "exit")]


@pytest.mark.needs_root
def test_of_many_failures_some_are_kept_and_the_rest_counted(run):
	run("sh", "-c", "for i in $(seq 40); do sh -c 'exit 1'; done; kill -SEGV $$", options=["--flight-recorder=16"])
	report = json.loads(run.proctor("report", "--json").stdout)
	assert len(report["last_calls"]) == 17
	assert report["last_calls_left_out"] == 24
	assert report["last_calls"][-1]["signal_num"] == signal.SIGSEGV
	assert "the last calls of 24 more processes were not kept" in run.proctor("report", "--last-calls").stdout


@pytest.mark.needs_root
def test_a_job_that_succeeds_leaves_nothing(run):
	run("true", options=["--flight-recorder"])
	assert kept(run) == []
	assert run.sql("SELECT 1 FROM process WHERE last_calls IS NOT NULL") == []
	none = run.proctor("report", "--last-calls")
	assert none.returncode == 3
	assert "no last calls of job" in none.stderr
	assert run.job()["syscall_count"] > 0  # they are counted as well
	assert run.job()["tier"].endswith(", flight recorder")


@pytest.mark.needs_root
def test_last_calls_go_with_their_job(record, run):
	assert record(CRASH, "exit")
	assert run.proctor("rm", run.job()["job_id"]).returncode == 0
	assert run.sql("SELECT 1 FROM process WHERE last_calls IS NOT NULL") == []


@pytest.mark.needs_root
def test_without_the_rights_the_job_runs_all_the_same(as_nobody):
	run = Plain(as_nobody)
	done = run(as_nobody.copy(CRASH), "exit", options=["--flight-recorder"])
	assert done.returncode == 3
	assert "system calls are not counted, and the flight recorder is off: BPF needs CAP_BPF and CAP_PERFMON" in done.stderr


@pytest.mark.needs_root
@pytest.mark.tier("connector")
def test_without_bpf_the_job_runs_all_the_same(run):
	done = run(CRASH, "exit", options=["--flight-recorder", "--no-bpf"])
	assert done.returncode == 3
	assert "the flight recorder is off" in done.stderr
	assert kept(run) is None  # not an empty list: nothing is known
	assert "flight recorder" not in run.job()["tier"]


@pytest.mark.parametrize("number", ["15", "129", "0", "x", ""])
def test_a_number_out_of_bounds_is_refused(run, number):
	done = run("true", options=[f"--flight-recorder={number}"])
	assert done.returncode == 125
	assert "--flight-recorder" in done.stderr
	assert not run.is_recorded()
