# SPDX-License-Identifier: MIT
"""The memory that a job uses, against what the kernel counts in a control group of its own: forked workers, threads, shared memory, files."""
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from conftest import read_store_so_far, wait_for
from runkit import Plain

HOLD = "import os, sys, time, mmap, threading\nMIB = 1 << 20\n" + '''
def touch(block, mib=None, first=0):
	for at in range(first * MIB, (first + mib) * MIB if mib else len(block), 4096):
		block[at] = 1
	return block
def hold():
	os.write(1, b"held\\n")
	os.read(0, 1)
'''
# Each process or thread that calls hold() keeps what it has until the input ends.
PROGRAMS = {
	"one process": "a = touch(bytearray(150 * MIB)); hold()",
	"forked workers that write to a part of it": '''
a = touch(bytearray(200 * MIB))
for number in range(6):
	if os.fork() == 0:
		own = touch(bytearray(15 * MIB))
		touch(a, 10)
		hold()
		os._exit(0)
for number in range(6):
	os.wait()''',
	"forked workers that rename themselves": '''
import ctypes
a = touch(bytearray(150 * MIB))
for number in range(5):
	if os.fork() == 0:
		ctypes.CDLL(None).prctl(15, b"pt_data_worker", 0, 0, 0)
		hold()
		os._exit(0)
for number in range(5):
	os.wait()''',
	"workers whose parents have ended": '''
a = touch(bytearray(150 * MIB))
read_end, write_end = os.pipe()
for number in range(6):
	if os.fork() == 0:
		if os.fork() == 0:
			own = touch(bytearray(10 * MIB))
			hold()
			os.write(write_end, b"x")
		os._exit(0)
	os.wait()
for number in range(6):
	os.read(read_end, 1)''',
	"workers that fork workers": '''
a = touch(bytearray(100 * MIB))
def wait():
	for number in range(2):
		os.wait()
for number in range(2):
	if os.fork() == 0:
		own = touch(bytearray(40 * MIB))
		touch(a, 20)
		for number in range(2):
			if os.fork() == 0:
				more = touch(bytearray(10 * MIB))
				hold()
				os._exit(0)
		wait()
		os._exit(0)
wait()''',
	"a worker that replaced its program": '''
import subprocess
a = touch(bytearray(100 * MIB))
subprocess.run([sys.executable, "-c", "import os\\na = bytearray(80 << 20)\\nfor i in range(0, len(a), 4096): a[i] = 1\\nprint('held', flush=True); os.read(0, 1)"])''',
	"threads": '''
all_end = threading.Barrier(4)
def work():
	own = touch(bytearray(40 * MIB)); hold(); all_end.wait()
threads = [threading.Thread(target=work) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]''',
	"shared memory of several processes": '''
a = touch(mmap.mmap(-1, 120 * MIB))
for number in range(4):
	if os.fork() == 0:
		a[::4096]; hold(); os._exit(0)
for number in range(4):
	os.wait()''',
	"a memfd": '''
fd = os.memfd_create("data"); os.truncate(fd, 100 * MIB); a = touch(mmap.mmap(fd, 100 * MIB)); hold()''',
	"a mapped file": '''
import tempfile
file = tempfile.TemporaryFile(dir="/var/tmp"); [file.write(b"x" * MIB) for number in range(60)]; file.flush()
a = mmap.mmap(file.fileno(), 60 * MIB, prot=mmap.PROT_READ); a[::4096]
b = touch(bytearray(50 * MIB)); hold()''',
}
HOLDERS = {"forked workers that write to a part of it": 6, "forked workers that rename themselves": 5,
	   "workers whose parents have ended": 6, "workers that fork workers": 4, "threads": 4, "shared memory of several processes": 4}  # all others: 1
HELD_TICKS = 6
SETTLED_S = 20
NOBODY = 65534
ALLOWED = 0.05  # of the truth, and of a few MiB that an interpreter touches between two ticks
FEW_MIB = 3


def program(name):
	return [sys.executable, "-c", HOLD + PROGRAMS[name]]


def used_mib(group):
	"""Anonymous and shared memory that the group holds now."""
	try:
		facts = dict(line.split() for line in (group / "memory.stat").read_text(encoding="utf-8").splitlines())
	except OSError:
		return 0
	return (int(facts["total_rss"]) + int(facts["total_shmem"])) / 2**20


@pytest.fixture
def group():
	"""A control group that counts memory and that anyone may enter."""
	own = [line.split(":", 2)[2].strip() for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
	       if "memory" in line.split(":")[1].split(",")]
	if os.geteuid() != 0 or not own:
		pytest.skip("NOT RUN: needs root and the memory controller of cgroup v1")
	group = Path("/sys/fs/cgroup/memory%s/memory-%d" % (own[0], os.getpid()))
	group.mkdir()
	os.chown(group / "cgroup.procs", NOBODY, NOBODY)
	yield group
	wait_for(lambda: not (group / "cgroup.procs").read_text(encoding="utf-8"))
	group.rmdir()


class Watch(threading.Thread):
	"""The most that a group holds until it is stopped."""

	def __init__(self, group):
		super().__init__()
		self.group, self.most, self.stopped = group, 0, threading.Event()
		self.readings = []  # (time, MiB)

	def run(self):
		while not self.stopped.wait(0.01):
			self.readings.append((time.time(), used_mib(self.group)))
			self.most = max(self.most, self.readings[-1][1])

	def at(self, when):
		return min(self.readings, key=lambda reading: abs(reading[0] - when))[1]

	def __enter__(self):
		self.start()
		return self

	def __exit__(self, *_):
		self.stopped.set()
		self.join()


def run_and_hold(proctor, name, line, truth=None, **how):
	"""The memory used in the last samples that were taken while the program held all of it. PSS is read on a budget: on a busy machine
	it takes a while until all have been read, and the figure is the truth."""
	def used(since):
		rows = read_store_so_far(proctor.state_dir, "SELECT used_mb FROM job_samples WHERE timestamp > %f" % since)
		return [row["used_mb"] for row in rows][-HELD_TICKS:]

	def is_settled(since):
		values = used(since)
		return len(values) == HELD_TICKS and (truth is None or is_close(statistics.median(values), truth()) or time.time() > since + SETTLED_S)

	with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how) as job:
		for _ in range(HOLDERS.get(name, 1)):
			assert job.stdout.readline() == "held\n"
		began = time.time()
		wait_for(lambda: is_settled(began))
		held = used(began)
		_, err = job.communicate(timeout=60)  # ends the input
	assert job.returncode == 0, err
	return held


def is_close(mib, truth):
	return abs(mib - truth) <= ALLOWED * truth + FEW_MIB


@pytest.mark.needs_root
@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_used_without_a_control_group_is_what_the_kernel_would_count(as_nobody, group, name):
	enter = 'echo $$ > %s/cgroup.procs && exec "$@"' % group
	line = [as_nobody.place / "proctor", "run", "--", "sh", "-c", enter, "sh", *program(name)]
	with Watch(group) as watch:
		held = run_and_hold(as_nobody, name, line, lambda: watch.most, env=as_nobody.env, cwd=as_nobody.place, user=NOBODY, group=NOBODY, extra_groups=[])
	job = as_nobody.sql("SELECT * FROM jobs")[0]
	assert (job["peak_used_mb_quality"], job["peak_charged_mb_quality"]) == ("sampled", "missing")
	assert is_close(statistics.median(held), watch.most), (held, watch.most)
	if "shared memory" not in name:  # while it is mapped, the shares of one tick are read one after the other
		assert is_close(job["peak_used_mb"], watch.most), (job["peak_used_mb"], watch.most)


CHURN = """
a = touch(bytearray(200 * MIB))
for number in range(4):
	if os.fork() == 0:
		end = time.time() + 3
		while time.time() < end:
			own = b"x" * (30 * MIB); time.sleep(0.1); del own
		os._exit(0)
for number in range(4):
	os.wait()"""


@pytest.mark.needs_root
def test_workers_that_free_and_allocate_again_do_not_use_more_and_more(as_nobody, group):
	enter = 'echo $$ > %s/cgroup.procs && exec "$@"' % group
	with Watch(group) as watch:
		done = as_nobody("run", "--", "sh", "-c", enter, "sh", sys.executable, "-c", HOLD + CHURN)
	assert done.returncode == 0, done.stderr
	job = as_nobody.sql("SELECT * FROM jobs")[0]
	assert is_close(job["peak_used_mb"], watch.most), (job["peak_used_mb"], watch.most)
	assert (job["used_mb"], job["used_mb_quality"]) == (None, "missing")  # it uses nothing any more


GROW = """
held = []
while True:
	held.append(touch(bytearray(10 * MIB))); time.sleep(0.1)"""


@pytest.mark.needs_root
def test_the_largest_process_of_a_job_that_was_killed_is_that_of_its_last_tick(as_nobody):
	"""The recorder is killed along with it."""
	line = [as_nobody.place / "proctor", "run", "--", sys.executable, "-c", HOLD + GROW]
	with subprocess.Popen(line, env=as_nobody.env, cwd=as_nobody.place, user=NOBODY, group=NOBODY, extra_groups=[], start_new_session=True) as recorder:
		wait_for(lambda: any((row["used_mb"] or 0) > 200 for row in read_store_so_far(as_nobody.state_dir, "SELECT used_mb FROM job_samples")))
		os.killpg(recorder.pid, signal.SIGKILL)
	job = as_nobody.sql("SELECT * FROM jobs")[0]
	last = as_nobody.sql("SELECT max(rss_mb) AS rss_mb FROM job_samples")[0]
	assert job["peak_rss_mb"] > last["rss_mb"] - 25, (job, last)


@pytest.mark.needs_root
def test_workers_of_a_watched_process_do_not_use_more_and_more_either(proctor, group):
	enter = 'echo $$ > %s/cgroup.procs && read go && exec "$@"' % group
	with subprocess.Popen(["sh", "-c", enter, "sh", sys.executable, "-c", HOLD + CHURN], stdin=subprocess.PIPE) as job, Watch(group) as watch:
		with subprocess.Popen([proctor.binary, "run", "--pid", str(job.pid)], env=proctor.env, stderr=subprocess.PIPE, text=True) as recorder:
			wait_for(lambda: read_store_so_far(proctor.state_dir, "SELECT 1 FROM job_samples"))
			job.stdin.write(b"go\n")
			job.stdin.close()
			_, err = recorder.communicate(timeout=60)
	job = proctor.sql("SELECT * FROM jobs")[0]
	assert is_close(job["peak_used_mb"], watch.most), (job["peak_used_mb"], watch.most, err)


FILL = """
def fill(block, first, last):
	for mib in range(first, last, 4):
		touch(block, 4, mib); time.sleep(0.06)
fd = os.memfd_create("data"); os.truncate(fd, 160 * MIB); a = mmap.mmap(fd, 160 * MIB)
"""
FILLERS = {
	"one process": "fill(a, 0, 160)",
	"two workers": """
for number in range(2):
	if os.fork() == 0:
		fill(a, 80 * number, 80 * number + 80)
		os._exit(0)
os.wait(); os.wait()""",
}


@pytest.mark.needs_root
@pytest.mark.parametrize("name", FILLERS)
def test_shared_memory_is_counted_while_it_is_being_filled(as_nobody, group, name):
	enter = 'echo $$ > %s/cgroup.procs && exec "$@"' % group
	with Watch(group) as watch:
		done = as_nobody("run", "--", "sh", "-c", enter, "sh", sys.executable, "-c", HOLD + FILL + FILLERS[name])
	assert done.returncode == 0, done.stderr
	samples = as_nobody.sql("SELECT timestamp, used_mb FROM job_samples WHERE used_mb > 0")
	pairs = [(row["used_mb"], watch.at(row["timestamp"])) for row in samples]
	ratios = [used / truth for used, truth in pairs if truth > 40]
	assert len(ratios) >= 3 and abs(statistics.median(ratios) - 1) < 2 * ALLOWED, pairs  # it grows between a sample and the reading of the truth
	assert max(used for used, _ in pairs) <= watch.most * (1 + ALLOWED) + FEW_MIB, pairs


# Too fast for a tick, as a rule, and the end follows at once.
LEAP = """
fd = os.memfd_create("data"); os.truncate(fd, 180 * MIB); a = mmap.mmap(fd, 180 * MIB)
touch(a, 120); time.sleep(1); touch(a, 60, 120); os._exit(0)"""


@pytest.mark.needs_root
def test_memory_that_is_filled_just_before_the_end_is_counted(as_nobody, group):
	enter = 'echo $$ > %s/cgroup.procs && exec "$@"' % group
	with Watch(group) as watch:
		done = as_nobody("run", "--", "sh", "-c", enter, "sh", sys.executable, "-c", HOLD + LEAP)
	assert done.returncode == 0, done.stderr
	job = as_nobody.sql("SELECT * FROM jobs")[0]
	assert watch.most < 190 and is_close(job["peak_used_mb"], 183), (job["peak_used_mb"], watch.most)


@pytest.mark.needs_root
@pytest.mark.parametrize("kind", ["private", "shared"])
def test_memory_that_grows_until_the_end_is_counted_with_a_control_group(run, kind):
	"""… though the last tick, after a second, saw only a part of it."""
	mapping = {"private": "flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS", "shared": "flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS"}[kind]
	grow = "a = mmap.mmap(-1, 180 * MIB, %s)\nfor i in range(9): touch(a, 20, 20 * i); time.sleep(0.15)\nos._exit(0)" % mapping
	done = run(sys.executable, "-c", HOLD + grow, options=["--interval", "1"])
	job = run.job()
	assert done.returncode == 0 and job["peak_used_mb_quality"] == "sampled"
	assert is_close(job["peak_used_mb"], 185) and job["peak_used_mb"] <= job["peak_charged_mb"], job


@pytest.mark.needs_root
def test_memory_that_is_freed_before_the_next_tick_is_counted_with_a_control_group(run):
	done = run(sys.executable, "-c", HOLD + "time.sleep(1.3); a = touch(bytearray(180 * MIB)); del a; time.sleep(1)", options=["--interval", "1"])
	job = run.job()
	assert done.returncode == 0 and is_close(job["peak_used_mb"], 185) and job["peak_used_mb"] <= job["peak_charged_mb"], job


@pytest.mark.needs_root
@pytest.mark.parametrize("mapped", [False, True])
def test_files_in_dev_shm_that_nobody_maps_make_memory_used_a_lower_bound(as_nobody, mapped):
	write = "fd = os.open('/dev/shm/proctor-test-%d' % os.getpid(), os.O_RDWR | os.O_CREAT); os.write(fd, bytes(30 * MIB))\n"
	write += "touch(a := mmap.mmap(fd, 30 * MIB)); time.sleep(0.5)\n" if mapped else "time.sleep(0.3)\n"
	assert as_nobody("run", "--interval", "0.1", "--", sys.executable, "-c", HOLD + write + "os.unlink('/dev/shm/proctor-test-%d' % os.getpid())").returncode == 0
	job = as_nobody.sql("SELECT * FROM jobs")[0]
	assert (job["peak_used_mb"] > 30) == mapped and (mapped or job["peak_used_mb_quality"] == "at_least"), job


@pytest.mark.needs_root
def test_memory_that_a_watched_process_fills_just_before_its_end_is_counted(proctor):
	with subprocess.Popen(["sh", "-c", 'read go && exec "$@"', "sh", sys.executable, "-c", HOLD + LEAP], stdin=subprocess.PIPE) as job:
		with subprocess.Popen([proctor.binary, "run", "--pid", str(job.pid)], env=proctor.env, stderr=subprocess.PIPE, text=True) as recorder:
			wait_for(lambda: read_store_so_far(proctor.state_dir, "SELECT 1 FROM job_samples"))
			job.stdin.write(b"go\n")
			job.stdin.close()
			_, err = recorder.communicate(timeout=60)
	job = proctor.sql("SELECT * FROM jobs")[0]
	assert is_close(job["peak_used_mb"], 183), (job["peak_used_mb"], err)


# Freed again before the next tick, as a rule, and before others begin.
EARLY = """
import subprocess
time.sleep(2); a = touch(bytearray(200 * MIB)); del a; time.sleep(2.5)
children = [subprocess.Popen([sys.executable, "-c", "import time; b = bytearray(b'x') * (50 << 20); time.sleep(2)"]) for _ in range(4)]
for child in children:
	child.wait()"""


@pytest.mark.needs_root
def test_memory_that_was_freed_before_others_began_is_not_added_to_theirs(as_nobody, group):
	enter = 'echo $$ > %s/cgroup.procs && exec "$@"' % group
	with Watch(group) as watch:
		done = as_nobody("run", "--interval", "1", "--", "sh", "-c", enter, "sh", sys.executable, "-c", HOLD + EARLY)
	assert done.returncode == 0, done.stderr
	job = as_nobody.sql("SELECT * FROM jobs")[0]
	assert is_close(job["peak_used_mb"], watch.most), (job["peak_used_mb"], watch.most)


OUTSIDER = """
import signal
fd = os.memfd_create("data"); os.truncate(fd, 160 * MIB); a = touch(mmap.mmap(fd, 160 * MIB))
os.write(1, b"mapped\\n"); signal.pause()"""
GUEST = """
b = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 160 * MIB); b[::4096]; hold()"""


@pytest.mark.needs_root
def test_of_memory_that_a_process_outside_the_job_maps_too_a_share_counts(as_nobody):
	user = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": as_nobody.place}
	with subprocess.Popen([sys.executable, "-c", HOLD + OUTSIDER], stdout=subprocess.PIPE, **user) as outsider:
		assert outsider.stdout.readline() == b"mapped\n"
		fds = Path("/proc/%d/fd" % outsider.pid)
		path = next(fds / name for name in os.listdir(fds) if "memfd" in os.readlink(fds / name))
		held = run_and_hold(as_nobody, "", [as_nobody.place / "proctor", "run", "--", sys.executable, "-c", HOLD + GUEST, path], env=as_nobody.env, **user)
		outsider.kill()
	assert is_close(statistics.median(held), 83), held


LEAVE = """
a = touch(mmap.mmap(-1, 100 * MIB))
os.write(1, b"mapped\\n"); os.read(0, 1)
for number in range(30):
	if os.fork() == 0:
		a[::4096]; os.read(0, 1); os._exit(0)
os.write(1, b"shared\\n")
for number in range(30):
	os.wait()
os.write(1, b"left\\n"); os.read(0, 1)"""


@pytest.mark.needs_root
def test_shared_memory_is_counted_in_full_when_all_but_one_have_left_it(as_nobody):
	line = [as_nobody.place / "proctor", "run", "--", sys.executable, "-c", HOLD + LEAVE]

	def is_held(since, most):
		"""In three samples in a row. It may take a while: the recorder spends only a part of its time on reading the shares of many."""
		rows = read_store_so_far(as_nobody.state_dir, "SELECT used_mb FROM job_samples WHERE timestamp > %f ORDER BY timestamp" % since)
		return len(rows) >= 3 and all(100 < (row["used_mb"] or 0) < most for row in rows[-3:])

	with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=as_nobody.env, cwd=as_nobody.place, user=NOBODY, group=NOBODY,
			      extra_groups=[], bufsize=0) as job:
		for word, waiting, most in ((b"mapped\n", 1, 115), (b"shared\n", 30, 200), (b"left\n", 1, 115)):
			assert job.stdout.readline() == word
			wait_for(lambda since=time.time(), most=most: is_held(since, most))
			job.stdin.write(b"x" * waiting)
	assert job.returncode == 0


@pytest.mark.needs_root
def test_memory_used_may_exceed_a_limit_that_was_raised_since(as_nobody, group):
	"""A recorder with sanitizers fits into the limit, too."""
	limit = group / "memory.limit_in_bytes"
	limit.write_text(str(300 << 20), encoding="utf-8")
	grow = "a = touch(bytearray(60 * MIB)); open('small', 'w')\nwhile not os.path.exists('raised'): time.sleep(0.01)\n"
	grow += "b = touch(bytearray(400 * MIB)); time.sleep(0.5)"

	def raise_limit():
		wait_for((as_nobody.place / "small").exists)
		limit.write_text(str(900 << 20), encoding="utf-8")
		(as_nobody.place / "raised").touch()

	raiser = threading.Thread(target=raise_limit)
	raiser.start()
	run = Plain(as_nobody, group)
	done = run("/usr/bin/python3", "-c", HOLD + grow)
	raiser.join()
	job = run.job()
	assert done.returncode == 0 and job["allowed_memory_mb"] == 300, done.stderr
	assert is_close(job["peak_used_mb"], 465), job
	assert job["hungriest"] == "python3" and "python3" in done.stderr, done.stderr


@pytest.mark.needs_root
@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_used_with_a_control_group_is_at_most_what_was_charged(run, name):
	run_and_hold(run.proctor, name, run.line(*program(name), options=["--interval", "0.1"]), env=run.env)
	job = run.job()
	assert (job["peak_used_mb_quality"], job["peak_charged_mb_quality"]) == ("sampled", "exact")
	assert 40 < job["peak_used_mb"] <= job["peak_charged_mb"]
	if "file" not in name:  # what is charged is little more: no page cache
		assert is_close(job["peak_used_mb"], job["peak_charged_mb"] - 2), job


def test_a_job_too_short_for_a_tick_used_at_most_what_was_charged(run):
	def between_ticks():
		assert run("/bin/true", options=["--name", "brief"]).returncode == 0
		return [job for job in run.jobs() if not run.sql("SELECT 1 FROM job_samples WHERE job_id = '%s'" % job["job_id"])]
	job = wait_for(between_ticks)[0]  # on a busy machine a tick may fall into it
	expected = "at_most" if job["peak_charged_mb"] else "missing"
	assert (job["peak_used_mb"], job["peak_used_mb_quality"]) == (job["peak_charged_mb"], expected)


def test_the_cpu_of_the_samples_adds_up_to_that_of_the_job(run):
	"""Processes that begin and end between two ticks are in no sample."""
	burn = ("import subprocess, time\nend = time.monotonic() + 1.5\n"
		"while time.monotonic() < end: subprocess.run(['awk', 'BEGIN { for (i = 0; i < 300000; i++) x += i }'])")
	assert run(sys.executable, "-c", burn, options=["--interval", "0.2"]).returncode == 0
	job = run.job()
	rows = run.sql("SELECT timestamp, cpu_percent, cpu_seconds FROM job_samples ORDER BY timestamp")
	times = [job["started"], *(row["timestamp"] for row in rows)]
	total = sum(row["cpu_percent"] / 100 * (after - before) for row, before, after in zip(rows, times, times[1:]))
	assert len(rows) > 3 and job["cpu_seconds"] > 0.1
	assert abs(total - job["cpu_seconds"]) <= 0.01 * job["cpu_seconds"] + 0.01, (total, job["cpu_seconds"])
	assert rows[-1]["cpu_seconds"] == job["cpu_seconds"]
	assert all(row["cpu_percent"] <= 100 * os.cpu_count() for row in rows[:-1])


def test_no_thread_uses_more_than_a_core(run):
	done = run(sys.executable, "-c", "import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass",
		   options=["--interval", "0.05"])
	assert done.returncode == 0, done.stderr
	rows = run.sql("SELECT max(cpu_percent) AS most FROM process_metrics WHERE job_id IS NOT NULL")
	assert 0 < rows[0]["most"] <= 100
