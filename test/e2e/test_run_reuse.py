# SPDX-License-Identifier: MIT
"""Pids that are used again: two processes of one job that had the same one after the other, and outsiders that get that of one. Each story has a
pid namespace of its own; test_run_reuse_connector.py is without."""
import json
import sys

import pytest

pytestmark = pytest.mark.needs_root

FINAL_CPU = 1  # a bit of process.final
LIFE = ("start_ticks", "started_at", "ended_at", "exit_code", "cpu_seconds", "name")  # what is compared of a process
NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
# Where no namespace is possible, because the connector is silent in one, other processes of the machine take pids too.
KIT = r"""
import os, sys, time

def burn(ms):
	while time.process_time() * 1000 < ms:
		pass

# A child with this pid (0: any), an orphan at once, so that whoever adopts it learns its end. None: somebody else got the pid.
def spawn(pid, work):
	reader, writer = os.pipe()
	middle = os.fork()
	if middle == 0:
		if pid:
			with open("/proc/sys/kernel/ns_last_pid", "w") as last:
				last.write(str(pid - 1))
		child = os.fork()
		if child == 0:
			os.close(reader)
			if pid and os.getpid() != pid:
				os._exit(99)
			os.write(writer, b"%d\n" % os.getpid())
			work()
		os._exit(0)
	os.close(writer)
	os.waitpid(middle, 0)
	with os.fdopen(reader) as answer:
		text = answer.read()  # up to its end
	return int(text) if text else None

def spawn_as(pid, work, tries=200):
	for _ in range(tries):
		try:
			os.kill(pid, 0)  # whoever adopted the last one has to reap it first
			time.sleep(0.01)
		except ProcessLookupError:
			if spawn(pid, work):
				return
	sys.exit("no pid %d to be had" % pid)

def life(ms, rest, end):
	def work():
		begin = time.process_time() * 1000
		while time.process_time() * 1000 - begin < ms:
			pass
		time.sleep(rest)
		os._exit(end)
	return work
"""
# On a busy machine the kernel is late with what a process took in all, and a job does not wait for it for long: their ends are waited for.
TWICE = KIT + r"""
import sqlite3

def is_recorded(pid, end, final):
	store = sqlite3.connect("file:%s/proctor.db?mode=ro" % os.environ["PROCTOR_STATE_DIR"], uri=True)
	try:
		return store.execute("SELECT 1 FROM process WHERE pid = ? AND exit_code = ? AND coalesce(final, 0) & ? = ?",
		                     (pid, end, final, final)).fetchone()
	except sqlite3.OperationalError:  # it is being made
		return None
	finally:
		store.close()

ms, rest, apart = map(float, sys.argv[1:4])
with open("/proc/sys/kernel/ns_last_pid", "r+") as last:
	if int(last.read()) < 3000:  # in a namespace of our own: away from those that others get next
		last.write("3000")
pid = spawn(0, life(ms, rest, 11))
for end in (12, 13):
	time.sleep(apart)
	spawn_as(pid, life(ms * (end - 10), rest, end))
until = time.monotonic() + 30
while not all(is_recorded(pid, end, int(sys.argv[4])) for end in (11, 12, 13)):
	if time.monotonic() > until:
		sys.exit("not all ends were recorded")
	time.sleep(0.02)
print(pid)
"""
# The job hands its pid over to an outsider: what starts it waits for the job's word at a fifo.
OUTSIDER_AFTER = KIT + r"""
pid = spawn(0, life(30, 0.15, 11))
with open(sys.argv[1], "w") as word:
	word.write(str(pid))
with open(sys.argv[1]) as word:
	word.read()
print(pid)
"""
AROUND = KIT + r"""
import subprocess
fifo = sys.argv[1]
os.mkfifo(fifo)
with subprocess.Popen(sys.argv[2:]) as job:
	with open(fifo) as word:
		pid = int(word.read())
	time.sleep(0.05)
	spawn_as(pid, life(300, 0.1, 77))
	with open(fifo, "w") as word:
		word.write("done")
sys.exit(job.returncode)
"""


class Disturbed(Exception):
	"""In the machine's own namespace any process that starts may take the pid between two of ours, and keep it."""


def namespace(tier):
	return [] if tier == "connector" else NAMESPACE


def run_story(run, *line):
	done = run.bare(*line)
	if "no pid" in done.stderr:
		raise Disturbed(done.stderr)
	assert done.returncode == 0, done.stderr
	if run.sql("SELECT 1 FROM recorder_events WHERE event_type = 'loss'"):
		raise Disturbed("there were more events on the machine than the recorder could read")
	return int(done.stdout)


def lives(run, pid):
	"""The job's processes of this pid, in the order of their births, but for those that were tries."""
	done = run.proctor("export", "--format", "jsonl")
	assert done.returncode == 0, done.stderr
	rows = map(json.loads, done.stdout.splitlines())
	found = [{name: row[name] for name in LIFE} for row in rows if row["type"] == "process" and row["pid"] == pid and row["exit_code"] != 99]
	return sorted(found, key=lambda row: row["started_at"])


def twice(run, tier, ms, rest, apart):
	line = run.line(sys.executable, "-c", TWICE, ms, rest, apart, FINAL_CPU if tier == "bpf" else 0, options=["--tier", tier])
	pid = run_story(run, *namespace(tier), *line)
	if tier != "proc":
		assert run.job()["tier"].startswith({"bpf": "BPF", "connector": "proc connector"}[tier])
	return lives(run, pid)


def three_lives(run, tier):
	rows = twice(run, tier, 40, 0.3, 0.05)
	assert [row["exit_code"] for row in rows] == [11, 12, 13], rows
	assert len({row["start_ticks"] for row in rows}) == 3
	for row, ms in zip(rows, (40, 80, 120)):
		slack = 5 if tier == "bpf" else 30  # in clock ticks, and as of the last sample
		assert ms - slack < row["cpu_seconds"] * 1000 < ms + slack, rows
	for before, after in zip(rows, rows[1:]):
		assert before["started_at"] < before["ended_at"] <= after["started_at"]


def short_lives(run, tier):
	rows = twice(run, tier, 1, 0, 0.02)
	assert [row["exit_code"] for row in rows] == [11, 12, 13], rows
	if tier == "bpf":
		assert run.job()["exited_processes"] == run.job()["processes"]
		assert all(0.0005 < row["cpu_seconds"] < 0.02 for row in rows), rows


def outsider(run, tier):
	fifo = run.proctor.state_dir.with_name("fifo-" + run.proctor.state_dir.name)
	line = run.line(sys.executable, "-c", OUTSIDER_AFTER, fifo, options=["--tier", tier])
	row, = lives(run, run_story(run, *namespace(tier), sys.executable, "-c", AROUND, fifo, *line))
	assert row["exit_code"] == 11
	assert row["cpu_seconds"] < 0.1, row
	assert run.job()["cpu_seconds"] < 0.3  # the outsider took as much, and nobody else did


@pytest.mark.parametrize("tier", ["bpf", "proc"])
def test_three_lives_of_one_pid_are_three_processes(run, tier):
	three_lives(run, tier)


@pytest.mark.parametrize("tier", ["bpf"])
def test_processes_too_short_for_a_tick_are_distinguished_too(run, tier):
	short_lives(run, tier)


@pytest.mark.parametrize("tier", ["bpf", "proc"])
def test_an_unrelated_process_that_gets_a_pid_of_the_job_is_not_of_the_job(run, tier):
	outsider(run, tier)
