# SPDX-License-Identifier: MIT
"""clients/python, from inside a job and without one."""
import json
import os
import re
import site
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from daemonkit import cold, daemon  # pylint: disable=unused-import
from runkit import wait_for

CLIENT = Path(__file__).resolve().parents[2] / "clients/python"
START = "import sys; sys.path.insert(0, %r); import json, proctor\n" % str(CLIENT)

LONGEST = "i" * 96  # of the ids that somebody may choose

# Behaves like the module: devices with an allocator's statistics, and a CPU that has none.
FAKE_JAX = """
class Device:
	def __init__(self, platform, stats): self.platform, self.stats = platform, stats
	def memory_stats(self): return self.stats
def local_devices():
	return [Device("cpu", None), Device("gpu", {"peak_bytes_in_use": 1 << 30}), Device("gpu", {"peak_bytes_in_use": 3 << 29})]
"""


def inside(proctor, program, *options, job_id="py", env=None):
	done = proctor("run", "--job-id", job_id, *options, "--", sys.executable, "-c", START + program, env=env)
	assert done.returncode == 0, done.stderr
	return done.stdout


@pytest.fixture
def outside(state_dir):
	env = {"PATH": os.environ["PATH"], "HOME": str(state_dir), "PROCTOR_SOCKET": str(state_dir / "nobody")}

	def run(program):
		return subprocess.run([sys.executable, "-c", START + program], env=env, capture_output=True, text=True, timeout=60)

	return run


def test_sheets_phases_and_marks_are_recorded(proctor):
	inside(proctor, """
with proctor.connect() as p:
	with p.sheet(1, total=2, label="first"):
		p.mark("epoch", n=1, loss=0.5)
	with p.phase("load") as data:
		data["rows"] = 7
	try:
		with p.sheet():
			raise ValueError("no")
	except ValueError:
		pass
""")
	report = json.loads(proctor("report", "py", "--json").stdout)
	assert [(s["sheet_num"], s["label"], s["status"]) for s in report["sheets"]] == [(1, "first", "completed"), (2, None, "failed")]
	events = proctor("events", "py", "--json").stdout
	assert "epoch" in events and "load" in events


def test_events_come_as_they_happen_and_one_may_begin_in_the_past(proctor):
	out = inside(proctor, """
with proctor.connect() as p:
	feed = p.subscribe("app.", timeout=5)
	first = p.publish("app.one", n=1)
	p.publish("app.two", n=2)
	got = [next(feed)["data"], next(feed)["event"]]
	again = next(p.subscribe("app.", since_seq=first, timeout=5))
	print(json.dumps([got, again["seq"] == first, list(p.subscribe("none.", timeout=0.1))]))
""")
	assert json.loads(out) == [[{"n": 1}, "app.two"], True, []]


def test_what_is_refused_is_raised_with_the_word_that_does_not_change(proctor):
	out = inside(proctor, """
with proctor.connect(strict=True) as p:
	words = []
	for call in (lambda: p.sheet_end(9), lambda: p.call("no.such"), lambda: p.call("job.mark", name=""), lambda: p.job_start("x")):
		try:
			call()
		except proctor.Refused as error:
			words.append(error.code)
	print(json.dumps(words))
""")
	assert json.loads(out) == ["not_found", "method_not_found", "invalid_params", "conflict"]


def test_without_a_recorder_a_strict_client_fails_and_a_quiet_one_does_nothing(outside):
	loud = outside("proctor.connect(strict=True)")
	assert loud.returncode == 1 and "NotRunning" in loud.stderr and "proctor run" in loud.stderr
	quiet = outside("""
with proctor.connect(quiet=True) as p:
	with p.sheet(1) as num, p.phase("x", rows=1) as data, p.job("t") as job_id:
		p.mark("m", a=1)
	print(num, data, job_id, p.sheet_start(), p.job_start(), p.publish("app.x"))
	print(list(p.subscribe("x")), p.context(), p.pressure(), p.admit(), proctor.probe_jax_peak_memory_mb())
	print(type(p.error).__name__, "proctor run" in str(p.error))
""")
	assert (quiet.returncode, quiet.stdout) == (
		0, "None {'rows': 1} None None None None\n[] None None None 0.0\nNotRunning True\n"), quiet.stderr


SQUATTER = """
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print("up", flush=True)
time.sleep(30)
"""


def test_without_anybody_reports_are_dropped_with_one_warning_and_questions_raise(outside):
	done = outside("""
for _ in range(3):
	with proctor.connect() as p:
		with p.sheet(1) as num, p.phase("x", rows=1) as data, p.job("t") as job_id:
			p.mark("m", a=1)
		print(num, data, job_id, p.sheet_start(), p.job_start(), p.publish("app.x"), p.sheet_end("x", exit_code="y"))
		for question in (p.context, p.pressure, p.admit, lambda: p.call("x"), lambda: p.subscribe("x")):
			try:
				question()
			except proctor.NotRunning:
				print("raised")
""")
	assert done.returncode == 0, done.stderr
	assert done.stdout.splitlines() == (["None {'rows': 1} None None None None None"] + ["raised"] * 5) * 3
	assert done.stderr.count("\n") == 1 and "no server at" in done.stderr and "proctor run" in done.stderr


# Behave like scalars of numpy and torch; ODD are values that no program should report, and some do.
ODD = """
import decimal, enum
class Scalar:
	def __init__(self, value): self.value = value
	def item(self): return self.value
class Array:
	def item(self): raise ValueError("only one element")
	def __str__(self): return "[0. 1. ... 9.]"
class Rude:
	def __str__(self): raise RuntimeError("no")
class Hue(enum.IntEnum): RED = 3
deep = []
for _ in range(100): deep = [deep]
cycle = []; cycle.append(cycle)
nan, inf = float("nan"), float("inf")
VALUES = dict(loss=nan, most=inf, least=-inf, f=Scalar(0.25), i=Scalar(7), b=Scalar(True), n=Scalar(nan), s=Scalar("t"), a=Array(), r=Rude(),
	h=Hue.RED, big=1 << 80, huge=1 << 100000, dec=decimal.Decimal("1.5"), raw=b"\\xff", lone="a\\udc80b", none=None, keys={1: 2, None: nan},
	list=[nan, (1, 2)], deep=deep, cycle=cycle, object=object, name="x", self=1, event=2, data=3)
"""


def test_marks_take_scalars_of_numpy_and_values_that_are_no_json(proctor, tmp_path):
	inside(proctor, ODD + """
with proctor.connect(strict=True) as p:
	p.mark("odd", **VALUES)
	with p.phase("odd", **VALUES):
		pass
	p.publish("app.odd", **VALUES)
	with p.sheet(Scalar(2), total=Scalar(3)) as num:
		print(num)
""", "--out", str(tmp_path / "run"))
	lines = [json.loads(line, parse_constant=pytest.fail) for line in (tmp_path / "run/run.jsonl").read_text().splitlines()]
	(mark,) = [line["data"] for line in lines if line.get("event") == "odd"]
	(phase,) = [{**line, **line["data"]} for line in lines if line["type"] == "phase"]
	for data in (mark, phase):
		assert (data["loss"], data["most"], data["least"], data["n"]) == ("NaN", "Infinity", "-Infinity", "NaN")
		assert (data["f"], data["i"], data["b"], data["s"], data["h"], data["dec"]) == (0.25, 7, True, "t", 3, "1.5")
		assert (data["a"], data["r"], data["big"], data["none"], data["name"]) == ("[0. 1. ... 9.]", "<Rude>", str(1 << 80), None, "x")
		assert data["lone"] == "a?b" and data["keys"] == {"1": 2, "None": "NaN"} and data["list"] == ["NaN", [1, 2]]
	assert '"loss":"NaN","most":"Infinity"' in proctor("report", "py").stdout


def test_marks_take_scalars_of_the_real_numpy(proctor):
	pytest.importorskip("numpy", reason="NOT RUN: needs python3-numpy")
	inside(proctor, """
import numpy as np
with proctor.connect(strict=True) as p:
	p.mark("np", f=np.float32(0.25), d=np.float64(0.5), i=np.int64(7), b=np.bool_(True), n=np.float16("nan"), z=np.array(3), a=np.arange(5))
""")
	(mark,) = json.loads(proctor("report", "py", "--json").stdout)["marks"]
	assert json.loads(mark["data"]) == {"f": 0.25, "d": 0.5, "i": 7, "b": True, "n": "NaN", "z": 3, "a": "[0 1 2 3 4]"}


# Servers that no client expects, each for one connection after the other.
STRANGE = """
import socket, sys, threading, time
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(0 if sys.argv[2] == "full" else 16)
print("up", flush=True)
def endless(c):
	while True: c.sendall(b"x" * 65536)
def drip(c):
	while True: c.sendall(b" "); time.sleep(0.05)
def others(c):
	while True: c.sendall(b'{"jsonrpc":"2.0","id":-1,"result":1}\\n'); time.sleep(0.05)
def unresponsive(c):
	c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096); time.sleep(60)
def line(text):
	def answer(c):
		c.recv(65536); c.sendall(text + b"\\n"); time.sleep(60)
	return answer
ways = dict(closed=lambda c: c.close(), endless=endless, drip=drip, others=others, unresponsive=unresponsive, text=line(b"nonsense"), array=line(b"[]"), null=line(b"null"),
	empty=line(b'{"id":1}'), deep=line(b"[" * 100000), error=line(b'{"id":1,"error":{"data":[1],"message":7}}'), number=line(b'{"id":1,"result":7}'),
	binary=line(bytes(range(128, 256))), full=lambda c: time.sleep(60))
if sys.argv[2] == "full": time.sleep(60)
while True:
	c, _ = s.accept()
	threading.Thread(target=ways[sys.argv[2]], args=[c], daemon=True).start()
"""


@pytest.mark.parametrize("way", ["closed", "endless", "drip", "others", "unresponsive", "text", "array", "null", "empty", "deep", "error", "number", "binary", "full"])
def test_a_server_that_is_broken_full_or_slow_never_ends_a_program(outside, children, tmp_path, way):
	path = str(tmp_path / "sock")
	server = children.python(STRANGE, path, way, stdout=subprocess.PIPE, text=True)
	assert server.stdout.readline() == "up\n"
	done = outside("""
import socket, time
crowd = []
if %r == "full":
	for _ in range(2):
		crowd.append(socket.socket(socket.AF_UNIX)); crowd[-1].setblocking(False)
		try: crowd[-1].connect(%r)
		except BlockingIOError: pass
begun = time.monotonic()
with proctor.connect(%r, timeout=0.5) as p:
	for i in range(20):
		p.mark("m", i=i, text="x" * 100000)
		with p.sheet(), p.phase("x", loss=float("nan")):
			p.publish("app.x")
	print(time.monotonic() - begun < 10, p.error is not None)
""" % (way, path, path))
	assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr
	assert done.stderr.count("\n") == 1, done.stderr


def test_forks_threads_handlers_and_the_end_of_the_program_share_one_client(proctor):
	inside(proctor, """
import atexit, os, signal, threading, time
p = proctor.connect()
class Late:
	def __del__(self): p.mark("late")
late = Late()
atexit.register(lambda: p.mark("atexit"))
def many(name):
	for i in range(50): p.mark(name, i=i)
threads = [threading.Thread(target=many, args=["thread%d" % n]) for n in range(4)]
def handle(*_):
	p.mark("handler")
	signal.setitimer(signal.ITIMER_REAL, 0.002)  # the next one: not within this one
signal.signal(signal.SIGALRM, handle)
handle()
for t in threads: t.start()
many("main")
children = []
for n in range(3):
	pid = os.fork()
	if pid == 0:
		many("child%d" % n)
		print(p.error or "", end="", file=sys.stderr, flush=True)
		os._exit(0 if p.error is None else 1)
	children.append(pid)
for t in threads: t.join()
signal.signal(signal.SIGALRM, signal.SIG_IGN)
assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
assert p.error is None, p.error
""")
	names = Counter(json.loads(line)["name"] for line in proctor("events", "py", "--json", "--kind", "mark").stdout.splitlines())
	for name in ["main", *("thread%d" % n for n in range(4)), *("child%d" % n for n in range(3))]:
		assert names[name] == 50, names
	assert names["handler"] > 0 and names["atexit"] == 1


def test_an_interrupt_within_a_call_leaves_a_client_that_works(proctor):
	inside(proctor, """
import signal
class Stop(BaseException): pass
def stop(*_): raise Stop
signal.signal(signal.SIGALRM, stop)
with proctor.connect() as p:
	stops = 0
	for i in range(300):
		try:
			signal.setitimer(signal.ITIMER_REAL, 0.0001 + i % 10 / 1e5)
			p.mark("interrupted")
			signal.setitimer(signal.ITIMER_REAL, 0)
		except Stop:
			stops += 1
	try:
		signal.setitimer(signal.ITIMER_REAL, 0)
	except Stop:
		pass
	p.mark("after")
	assert stops and p.error is None, (stops, p.error)
""")
	assert '"after"' in proctor("events", "py", "--json", "--kind", "mark").stdout


def test_a_socket_that_is_somebody_elses_is_not_believed(outside, children, as_nobody):
	path = str(as_nobody.place / "sock")
	server = children.spawn([sys.executable, "-c", SQUATTER, path], stdout=subprocess.PIPE, text=True, user=65534)
	assert server.stdout.readline() == "up\n"
	assert "who is not trusted" in outside("proctor.connect(%r, strict=True)" % path).stderr
	quiet = outside("print(proctor.connect(%r, quiet=True).error)" % path)
	assert "who is not trusted" in quiet.stdout and quiet.returncode == 0, quiet.stderr


def test_jax_reports_its_peak_and_the_jobs_summary_has_it(proctor, tmp_path):
	(tmp_path / "jax.py").write_text(FAKE_JAX)
	out = inside(proctor, "sys.path.insert(0, %r); import jax; print(proctor.probe_jax_peak_memory_mb())" % str(tmp_path),
		     "--out", str(tmp_path / "run"))
	assert out == "1536.0\n"
	assert json.loads((tmp_path / "run/summary.json").read_text())["jax_peak_bytes_mb"] == 1536.0


@pytest.mark.parametrize("jax", ["", "raise RuntimeError('broken')", "def local_devices(): raise RuntimeError('no backend')", "local_devices = list"])
def test_jax_that_is_absent_broken_or_without_devices_is_zero(outside, tmp_path, jax):
	(tmp_path / "jax.py").write_text(jax)
	done = outside("""
sys.path.insert(0, %r)
try:
	import jax
except RuntimeError:
	pass
print(proctor.probe_jax_peak_memory_mb())
""" % str(tmp_path))
	assert (done.returncode, done.stdout) == (0, "0.0\n"), done.stderr


def test_a_program_that_nobody_launched_registers_itself_with_the_daemon(daemon):
	program = """
import os, subprocess, time
with proctor.connect() as p:
	feed = p.subscribe("sheet.", timeout=10)
	with p.job("import", tags={"site": "north"}, total_sheets=1) as job_id:
		with p.sheet(1, label="all"):
			subprocess.run(["true"])
		events = [next(feed)["event"], next(feed)["event"]]
	print(json.dumps([job_id, events, p.pressure()["level"], p.admit("import")["allowed"], p.context(os.getpid()).keys() >= {"rss_mb"}]))
"""
	done = subprocess.run([sys.executable, "-c", START + program], env=daemon.proctor.env, capture_output=True, text=True, timeout=60)
	assert done.returncode == 0, done.stderr
	job_id, events, level, allowed, has_figures = json.loads(done.stdout)
	assert events == ["sheet.started", "sheet.completed"] and has_figures
	assert isinstance(allowed, bool) and level in ("none", "low", "medium", "high", "critical")
	(job,) = json.loads(daemon.proctor("ls", "--json").stdout)["jobs"]
	assert (job["job_id"], job["job_type"], job["status"], job["tags"]) == (job_id, "import", "completed", {"site": "north"})


def test_how_a_child_ended_is_reported_as_by_the_subprocess_module(daemon):
	program = """
import subprocess
with proctor.connect() as p:
	job_id = p.job_start("import")
	num = p.sheet_start()
	with subprocess.Popen(["sh", "-c", "kill -9 $$"]) as child:
		p.sheet_end(num, exit_code=child.wait())
	p.job_end(job_id, exit_code=child.wait())
"""
	done = subprocess.run([sys.executable, "-c", START + program], env=daemon.proctor.env, capture_output=True, text=True, timeout=60)
	assert done.returncode == 0, done.stderr
	for view in ("jobs", "sheets"):
		rows = daemon.proctor.sql("SELECT status, exit_code, signal_num FROM %s" % view)
		assert rows == [{"status": "failed", "exit_code": None, "signal_num": 9}], rows


WHERE = """
with proctor.connect() as p:
	print(p.call("daemon.status")["kind"])
"""


def test_a_program_in_a_job_with_the_longest_id_finds_it(proctor):
	assert inside(proctor, WHERE, job_id=LONGEST) == "run\n"


def test_a_program_finds_its_job_in_the_directory_that_systemd_gave(proctor, tmp_path):
	env = {k: v for k, v in proctor.env.items() if k != "PROCTOR_STATE_DIR"}
	env["STATE_DIRECTORY"] = "%s/one:%s/two" % (tmp_path, tmp_path)
	done = subprocess.run([proctor.binary, "run", "--", sys.executable, "-c", START + WHERE], env=env, capture_output=True, text=True, timeout=60)
	assert (done.stdout, done.returncode) == ("run\n", 0), done.stderr


@pytest.mark.parametrize("env, uid, found", [
	({}, 0, "/var/lib/proctor"),
	({"STATE_DIRECTORY": "relative"}, 0, "/var/lib/proctor"),
	({"STATE_DIRECTORY": "/one:/two", "XDG_STATE_HOME": "/x"}, 0, "/one"),
	({"PROCTOR_STATE_DIR": "/ours", "STATE_DIRECTORY": "/one"}, 0, "/ours"),
	({"XDG_STATE_HOME": "/x", "HOME": "/h"}, 65534, "/x/proctor"),
	({"XDG_STATE_HOME": "x", "HOME": "/h"}, 65534, "/h/.local/state/proctor"),
	({"HOME": ""}, 65534, "/nonexistent/.local/state/proctor"),  # as in the list of users
])
def test_the_state_directory_is_the_one_that_the_program_finds(env, uid, found):
	program = "import os; os.geteuid = lambda: %d; print(proctor._state_dir())" % uid
	done = subprocess.run([sys.executable, "-c", START + program], env=env, capture_output=True, text=True, timeout=60)
	assert done.stdout == found + "\n", done.stderr


def test_an_overtaken_subscriber_learns_how_many_and_none_if_unknown(proctor):
	out = inside(proctor, """
with proctor.connect() as p:
	feed = p.subscribe("app.", timeout=5)
	first = p.publish("app.one")
	stray = next(p.subscribe("app.", since_seq=7, timeout=5))
	for n in range(700):
		p.publish("app.big", x="x" * 4000)
	late = next(p.subscribe("app.", since_seq=first, timeout=5))
	print(json.dumps([stray["event"], stray["lost"], late["event"], late["lost"]]))
""")
	unknown, none, lagged, lost = json.loads(out)
	assert (unknown, none, lagged) == ("bus.lagged", None, "bus.lagged") and lost > 100


KILL = """
import os, signal, time
DAEMON = %d
def kill():
	os.kill(DAEMON, signal.SIGKILL)
	while open("/proc/%%d/stat" %% DAEMON).read().rsplit(")", 1)[1].split()[0] not in "ZX":
		time.sleep(0.01)
"""


def beside(daemon, program):
	"""To the end, beside a daemon, which kill() ends."""
	return subprocess.run([sys.executable, "-c", START + KILL % daemon.process.pid + program], env=daemon.proctor.env,
			      capture_output=True, text=True, timeout=60)


def test_a_daemon_that_dies_does_not_break_a_quiet_program(daemon):
	done = beside(daemon, """
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
with proctor.connect(quiet=True) as p:
	feed = p.subscribe("app.")
	with p.job("import") as job_id, p.sheet(1, label="all") as num, p.phase("load"):
		p.mark("bad", what=object())
		kill()
		p.mark("m", a=1)
		print(isinstance(job_id, str), num)
	print(list(feed), list(p.subscribe("app.")), p.context(), p.job_start("x"), p.call("daemon.status"))
	with p.job("again") as job_id, p.sheet(2) as num:
		print(job_id, num)
	print(type(p.error).__name__)
print("done")
""")
	assert (done.stdout.splitlines(), done.returncode) == (
		["True 1", "[] [] None None None", "None None", "NotRunning", "done"], 0), done.stderr


def test_a_program_hears_of_a_daemon_that_died_by_errors_of_ours_alone(daemon):
	done = beside(daemon, """
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
p = proctor.connect(strict=True)
feed = p.subscribe("app.")
heard = []
def read_events(call):
	try:
		call()
	except proctor.Error as error:
		heard.append(type(error).__name__)
def blocks():
	with p.job("import"), p.sheet(1):
		kill()
read_events(blocks)
for call in (p.context, lambda: p.subscribe("app."), lambda: next(feed), p.pressure, lambda: p.phase("x").__enter__(), p.close, p.pressure):
	read_events(call)
print(json.dumps(heard))
""")
	assert done.returncode == 0, done.stderr
	assert json.loads(done.stdout) == ["NotRunning"] * 6


def test_the_exception_of_a_block_counts_for_more_than_a_daemon_that_died(daemon):
	done = beside(daemon, """
with proctor.connect() as p:
	try:
		with p.job(), p.sheet(), p.phase("x"):
			kill()
			raise KeyError("mine")
	except KeyError:
		print("mine")
""")
	assert (done.stdout, done.returncode) == ("mine\n", 0), done.stderr


def test_a_restarted_daemon_is_reached_again_and_nothing_is_asked_twice(daemon, children):
	program = """
with proctor.connect(strict=True) as p:
	with p.job("import") as job_id:
		print(job_id, flush=True)
		sys.stdin.readline()
		with p.sheet(1):
			pass
	sys.stdin.readline()
	try:
		p.job_start("never")
	except proctor.NotRunning:
		print("gone")
"""
	child = children.spawn([sys.executable, "-c", START + program], env=daemon.proctor.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	job_id = child.stdout.readline().strip()
	daemon.stop()
	daemon.start()
	child.stdin.write("on\n")
	child.stdin.flush()

	def ended():
		return [(j["job_id"], j["status"]) for j in daemon.result("job.list")["jobs"]] == [(job_id, "completed")]

	wait_for(ended)
	(sheet,) = json.loads(daemon.proctor("report", job_id, "--json").stdout)["sheets"]
	assert sheet["status"] == "completed"
	daemon.stop()
	assert child.communicate("on\n", timeout=60)[0] == "gone\n" and child.returncode == 0


def test_a_daemon_that_hangs_holds_up_a_quiet_program_once(daemon):
	done = beside(daemon, """
with proctor.connect(quiet=True, timeout=1) as p:
	os.kill(DAEMON, signal.SIGSTOP)
	try:
		begun = time.monotonic()
		for _ in range(20):
			p.mark("m")
		with p.job("x") as job_id:
			print(job_id, list(p.subscribe("app.")), time.monotonic() - begun < 10, p.error)
	finally:
		os.kill(DAEMON, signal.SIGCONT)
""")
	assert done.stdout == "None [] True job.mark: no answer within 1 s\n", done.stderr


REFUSER = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
print("up", flush=True)
while True:
	line, _ = s.accept()
	line.sendall(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"too many clients","data":{"code":"busy"}}}\\n')
	line.close()
"""


def test_why_a_connection_is_refused_is_reported(outside, children, tmp_path):
	path = str(tmp_path / "sock")
	server = children.python(REFUSER, path, stdout=subprocess.PIPE, text=True)
	assert server.stdout.readline() == "up\n"
	done = outside("""
import time
for _ in range(20):
	p = proctor.connect(%r)
	time.sleep(0.01)
	try:
		p.pressure()
	except proctor.Refused as error:
		print(error, error.code)
""" % path)
	assert done.stdout == "too many clients busy\n" * 20, done.stderr


@pytest.mark.parametrize("code, status", [("", "completed"), ("0", "completed"), ("3", "failed"), ("'text'", "failed")])
def test_a_job_whose_program_exits_ends_as_that_does(daemon, code, status):
	beside(daemon, "with proctor.connect() as p, p.job('x'): sys.exit(%s)" % code)
	(job,) = daemon.result("job.list")["jobs"]
	assert job["status"] == status


def test_it_is_installed_where_the_systems_python_finds_it(tmp_path):
	build = Path(os.environ["PROCTOR_BUILD_DIR"]).resolve()
	subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", tmp_path], check=True, timeout=120)
	(module,) = tmp_path.rglob("proctor.py")
	place = "/" + str(module.parent.relative_to(tmp_path))
	options = json.loads((build / "meson-info/intro-buildoptions.json").read_text())
	(prefix,) = [option["value"] for option in options if option["name"] == "prefix"]
	if prefix in ("/usr", "/usr/local"):
		assert place in site.getsitepackages()
	env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(module.parent), "PYTHONDONTWRITEBYTECODE": "1"}
	done = subprocess.run([sys.executable, "-c", "import proctor; print(proctor.__file__, proctor.__version__)"], env=env, cwd=tmp_path,
			      capture_output=True, text=True, timeout=60)
	(version,) = re.findall(r"version: '([^']*)'", (CLIENT.parents[1] / "meson.build").read_text())[:1]
	assert done.stdout == "%s %s\n" % (module, version), done.stderr


@pytest.mark.parametrize("prefix", [site.PREFIXES[0], "/usr/local", site.getuserbase(), "/nowhere"])
def test_the_place_of_the_module_is_one_that_the_interpreter_searches(prefix):
	searched = [*site.getsitepackages(), site.getusersitepackages()]
	done = subprocess.run([sys.executable, CLIENT / "where.py", prefix, "/usual"], capture_output=True, text=True, check=True, timeout=60)
	place = done.stdout.strip()
	assert (place in searched and place.startswith(prefix + "/lib/")) or (place == "/usual" and prefix == "/nowhere")
