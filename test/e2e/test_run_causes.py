# SPDX-License-Identifier: MIT
"""Why a job failed, in its first line: out of memory and by whose limit, or a signal and its sender. As root with BPF, and as a plain
user, which sees counters of control groups and the daemon's answer, and gets no guess where neither gives a cause."""
import os
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import wait_for
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from runkit import Plain, children_of, command_of, enter
from terminal import Terminal

LIMIT_MB = 300  # a recorder with sanitizers fits, too
EAT = "bytearray(700 << 20)"
NOBODY = 65534


@pytest.fixture
def limited():
	"""A control group with a limit of memory, as a batch system makes it for its job, and its name."""
	own = [line.split(":", 2)[2].strip() for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
	       if "memory" in line.split(":")[1].split(",")]
	if os.geteuid() != 0 or not own:
		pytest.skip("NOT RUN: needs root and the memory controller of cgroup v1")
	above = Path("/sys/fs/cgroup/memory%s/slurm-%d" % (own[0], os.getpid()))
	group = above / "job_77"
	group.mkdir(parents=True)
	(group / "memory.limit_in_bytes").write_text(str(LIMIT_MB << 20), encoding="utf-8")
	yield group
	wait_for(lambda: not (group / "cgroup.procs").read_text(encoding="utf-8"))
	for path in [*group.iterdir(), group, above]:  # a recorder that was killed leaves its own
		if path.is_dir():
			path.rmdir()


def kills_of(group):
	return int((group / "memory.oom_control").read_text(encoding="utf-8").split()[-1])


def named(group):
	return "(limit %d MiB of …/%s/%s)" % (LIMIT_MB, group.parent.name, group.name)


def head(done):
	return done.stderr.split("proctor  ")[-1].splitlines()[0]


# ---- out of memory -----------------------------------------------------------------------------


@pytest.mark.needs_root
@pytest.mark.parametrize("command", [["/usr/bin/python3", "-c", EAT], ["sh", "-c", "/usr/bin/python3 -c '%s' || exit 1" % EAT]], ids=["itself", "a child"])
def test_a_plain_user_learns_whose_limit_killed_it(as_nobody, limited, command):
	run = Plain(as_nobody, limited, PROCTOR_SOCKET="/nonexistent")
	done = run(*command)
	assert kills_of(limited) >= 1
	assert "out of memory " + named(limited) in head(done) and "probably" not in head(done), done.stderr
	job = run.job()
	assert (job["result"], job["oom"], job["oom_source"], job["oom_kills"]) == ("oom", "proven", "cgroup", 1)
	assert job["oom_limit_mb"] == LIMIT_MB and job["oom_cgroup"].endswith("/%s/job_77" % limited.parent.name)
	assert "out of memory " + named(limited) in as_nobody("report").stdout
	assert "out of memory" in as_nobody("ls", "--outcome", "oom").stdout


@pytest.mark.needs_root
@pytest.mark.parametrize("neighbour", [True, False])
def test_a_kill_in_a_group_with_others_proves_nothing(as_nobody, children, limited, neighbour):
	"""It may have hit one of them. What started the job and the recorder's helpers are no others."""
	if neighbour:
		children.spawn(["sleep", "60"], preexec_fn=enter(limited))
	run = Plain(as_nobody, limited, before=["sh", "-c", 'rm -rf out; "$@"; exit $?', "sh"], PROCTOR_SOCKET="/nonexistent")
	script = "while [ $(wc -l <out/job_metrics.csv) -lt 3 ]; do sleep 0.02; done; /usr/bin/python3 -c '%s' || exit 1" % EAT
	done = run("sh", "-c", script, options=["--out", "out", "--capture"])
	assert ("probably out of memory " if neighbour else ": out of memory ") + named(limited) in head(done), done.stderr
	assert run.job()["oom"] == ("likely" if neighbour else "proven")


@pytest.mark.needs_root
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_job_that_ends_well_reports_that_a_process_ran_out_of_memory(run, as_nobody, limited, user):
	survive = ["sh", "-c", "python3 -c '%s'; exit 0" % EAT]
	runner = Plain(as_nobody, PROCTOR_SOCKET="/nonexistent") if user == "nobody" else run
	runner.group = limited
	done = runner(*survive, options=["--summary"])
	job = runner.job()
	assert done.returncode == 0 and (user == "root" or kills_of(limited) >= 1)
	assert (job["status"], job["result"], job["oom"], job["oom_kills"]) == ("completed", "ok", None, 1)
	assert "1 out of memory" in done.stderr, done.stderr


@pytest.mark.needs_root
def test_a_plain_user_whose_job_was_killed_otherwise_learns_no_more(as_nobody, limited):
	"""The group has met its limit before, and killed for it."""
	run = Plain(as_nobody, limited, PROCTOR_SOCKET="/nonexistent")
	subprocess.run(["/usr/bin/python3", "-c", EAT], preexec_fn=enter(limited), check=False)
	assert kills_of(limited) >= 1
	done = run("sh", "-c", "kill -9 $$")
	assert head(done).split("job ")[0].rstrip().endswith(": SIGKILL"), done.stderr
	job = run.job()
	assert (job["result"], job["oom"], job["signal_sender"]) == ("signal", None, None)


@pytest.mark.needs_root
@pytest.mark.parametrize("tier", ["bpf", "connector", "proc"])
def test_root_learns_whose_limit_killed_its_job(run, limited, tier):
	run.group = limited
	done = run("/usr/bin/python3", "-c", EAT, options=["--summary", "--tier", tier])
	assert done.returncode == -signal.SIGKILL
	assert "out of memory " + named(limited) in head(done) and "probably" not in head(done), done.stderr
	job = run.job()
	assert (job["oom"], job["oom_source"], job["limits_hit"]) == ("proven", "bpf" if tier == "bpf" else "cgroup", "")


@pytest.mark.needs_root
def test_the_report_has_one_line_of_one_kill(run, limited):
	run.group = limited
	assert run("sh", "-c", "/usr/bin/python3 -c '%s'; exit $?" % EAT).returncode == 137
	report = run.proctor("report").stdout
	notes = report.split("Events worth knowing\n")[1].split("\n\n")[0]
	assert notes.count("out of memory") == 1 and "SIGKILL" not in notes and "exit 137" not in notes, report


@pytest.mark.needs_root
def test_a_plain_user_learns_from_the_daemon_what_killed_it(daemon, as_nobody, limited):
	"""A daemon that is slow to answer is not waited for: then it is asked again, by another run."""
	run = Plain(as_nobody, limited, PROCTOR_SOCKET=str(daemon.socket))

	def learns(source, *command):
		done = run(*command)
		return done if run.jobs("%s = 'daemon'" % source) else None

	done = wait_for(lambda: learns("oom_source", "/usr/bin/python3", "-c", EAT))
	assert "out of memory " + named(limited) in head(done), done.stderr
	done = wait_for(lambda: learns("signal_sender_source", "sh", "-c", "sh -c 'kill -9 $PPID'; sleep 9"))
	assert "SIGKILL from sh (pid " in head(done), done.stderr
	job = run.job("signal_sender IS NOT NULL")
	assert (job["oom"], job["signal_sender"], job["signal_sender_uid"]) == (None, "process", NOBODY)


@pytest.mark.needs_root
def test_the_daemon_answers_only_about_processes_of_the_caller(daemon, children):
	child = children.spawn(["sleep", "60"], user=NOBODY, group=NOBODY, extra_groups=[])
	child.kill()
	child.wait()
	asked = {"processes": [{"pid": child.pid}]}
	for uid in (None, NOBODY):
		verdict = daemon.result("job.verdict", uid=uid, **asked)
		assert verdict["source"] == "bpf" and verdict["processes"][0]["oom"] is False, verdict
		assert verdict["processes"][0]["sender"]["pid"] == os.getpid()
	assert daemon.result("job.verdict", uid=1234, **asked) == {"source": "bpf", "processes": []}


@pytest.mark.needs_root
@pytest.mark.parametrize("tier", ["bpf", "connector"])
def test_a_registered_job_has_its_cause_in_the_daemons_store(cold, limited, children, tier):
	daemon = cold.start(*(["--no-bpf"] if tier == "connector" else []))
	gate = daemon.place / "gate"
	os.mkfifo(gate)
	child = children.spawn(["/usr/bin/python3", "-c", "open('%s').read(); %s" % (gate, EAT)], preexec_fn=enter(limited))
	daemon.result("job.start", job_id="fat", job_type="t", pid=child.pid)
	gate.write_text("", encoding="utf-8")
	assert child.wait() == -signal.SIGKILL
	wait_for(lambda: "out of memory " + named(limited) in daemon.proctor("report", "fat").stdout)


# ---- signals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("tier", ["bpf", "connector", "proc"])
def test_the_sender_of_a_forwarded_signal_is_named(run, tier):
	done = run.bare("timeout", "1", *run.line("sleep", "60", options=["--summary", "--tier", tier]))
	sender = run.job()["signal_sender_pid"]
	assert "SIGTERM from timeout (pid %d)" % sender in head(done), done.stderr
	assert "0 failed" not in done.stderr
	assert "0 failed" not in run.proctor("report").stdout


@pytest.mark.needs_root
@pytest.mark.parametrize("tier", ["bpf", "connector"])
def test_the_sender_of_a_signal_to_the_command_is_named_where_it_is_seen(run, tier):
	launcher = subprocess.Popen(run.line("sleep", "60", options=["--summary", "--tier", tier]), env=run.env, stderr=subprocess.PIPE, text=True)
	os.kill(command_of(launcher), signal.SIGKILL)
	first = launcher.communicate(timeout=60)[1].splitlines()[0]
	if tier == "bpf":
		assert "SIGKILL from " in first and "(pid %d)" % os.getpid() in first, first
	else:
		assert first.split("job ")[0].rstrip().endswith(": SIGKILL"), first


@pytest.mark.needs_root
def test_a_plain_user_gets_no_guess_of_the_sender(as_nobody):
	done = Plain(as_nobody, PROCTOR_SOCKET="/nonexistent")("sh", "-c", "sh -c 'kill -9 $PPID'; sleep 9")
	assert head(done).split("job ")[0].rstrip().endswith(": SIGKILL"), done.stderr


@pytest.mark.needs_root
@pytest.mark.tier()  # what there is within
@pytest.mark.parametrize("kind", [[], ["--user", "--map-root-user"]], ids=["root", "user"])
def test_a_signal_from_outside_of_a_container_is_no_key(run, kind):
	"""Its sender has no pid there, and nor has the kernel."""
	launcher = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", *kind, "sh", "-c", '"$@"; exit 0', "sh",
				     *run.line("sleep", "60", options=["--summary"])], env=run.env, stderr=subprocess.PIPE, text=True)
	shell = wait_for(lambda: children_of(launcher.pid, "sh"))[0]
	recorder = wait_for(lambda: children_of(shell, "proctor"))[0]
	wait_for(lambda: children_of(recorder, "sleep"))
	os.kill(recorder, signal.SIGINT)
	first = launcher.communicate(timeout=60)[1].splitlines()[0]
	assert first.split("job ")[0].rstrip().endswith(": SIGINT"), first
	assert run.job()["signal_sender"] is None


@pytest.mark.parametrize("tier", ["bpf", "connector", "proc"])
@pytest.mark.parametrize("key, words", [("\x03", r"SIGINT\s+\(Ctrl-C\)"), ("\x1c", r"SIGQUIT\s+\(Ctrl-\\\)")], ids=["Ctrl-C", "Ctrl-backslash"])
def test_a_key_is_named(run, tier, key, words):
	with Terminal(["bash", "--norc", "-i"], run.env) as tty:
		tty.expect(r"READY\$ ")
		tty.type("ulimit -c 0; %s\n" % " ".join(run.line("sh", "-c", "'echo on; exec sleep 60'", options=["--tier", tier])))
		tty.expect("\ron\r\n")
		tty.type(key)
		tty.expect("FAILED after [^:]*: " + words)
		tty.expect(r"READY\$ ")
	assert run.job()["signal_sender"] == "terminal"


@pytest.mark.parametrize("tier", ["bpf", "connector"])
def test_a_program_that_handles_the_key_and_ends_by_it_is_reported_alike(run, tier):
	program = "import time; print('on', flush=True); time.sleep(60)"
	with Terminal(["bash", "--norc", "-i"], run.env) as tty:
		tty.expect(r"READY\$ ")
		tty.type("%s 2>&1\n" % " ".join(run.line("/usr/bin/python3", "-c", '"%s"' % program, options=["--tier", tier])))
		tty.expect("\ron\r\n")
		tty.type("\x03")
		tty.expect(r"FAILED after [^:]*: SIGINT\s+\(Ctrl-C\)")


@pytest.mark.parametrize("tier", ["bpf", "connector"])
def test_a_signal_to_the_group_is_named(run, tier):
	launcher = subprocess.Popen(run.line("sleep", "60", options=["--summary", "--tier", tier]), env=run.env, stderr=subprocess.PIPE, text=True,
				    start_new_session=True)
	command_of(launcher)
	os.killpg(launcher.pid, signal.SIGTERM)
	err = launcher.communicate(timeout=60)[1]
	assert "(pid %d)" % os.getpid() in err.splitlines()[0] and "SIGTERM from " in err, err
