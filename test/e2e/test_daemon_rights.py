# SPDX-License-Identifier: MIT
"""Rights at the daemon's socket: root, the owner of a job, and another user, with every method there is. The table is
test/golden/rights.txt; PROCTOR_GOLDEN=write writes it anew."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from daemonkit import Daemon
from runkit import wait_for

GOLDEN = Path(__file__).parent.parent / "golden/rights.txt"
OWNER, OTHER = 2 * os.getpid() + 100000, 2 * os.getpid() + 100001  # nobody else's: all that they see is from here
USERS = {"root": 0, "owner": OWNER, "other": OTHER}
pytestmark = pytest.mark.needs_root


@pytest.fixture(scope="module")
def world():
	"""A job of the owner's and one of root's, both with a process."""
	daemon = Daemon().start()
	sleepers = []

	def spawn(uid):
		sleepers.append(subprocess.Popen(["sh", "-c", "while sleep 0.2; do :; done"], user=uid, group=uid, extra_groups=[]))
		return sleepers[-1].pid

	try:
		daemon.spawn, daemon.owners, daemon.roots = spawn, spawn(OWNER), spawn(0)
		daemon.result("job.start", uid=OWNER, job_id="owners", job_type="t", pid=daemon.owners)
		daemon.result("job.start", job_id="roots", job_type="t", pid=daemon.roots)
		wait_for(lambda: {p["job_id"] for p in daemon.result("daemon.top")["processes"]} >= {"owners", "roots"})
		wait_for(lambda: daemon.result("process.history", pid=daemon.owners)["points"])
		yield daemon
	finally:
		for child in sleepers:
			child.kill()
			child.wait()
		daemon.end()


def pids(top):
	return {process["pid"] for process in top["processes"]}


# For each method: what it is called with, and what of the answer matters. `w` is the world, `n` differs with each call.
CALLS = {
	"rpc.hello": (lambda w, n: {}, lambda w, r: "ok"),
	"daemon.status": (lambda w, n: {}, lambda w, r: "%d jobs" % r["running_jobs"]),
	"daemon.top": (lambda w, n: {}, lambda w, r: seen(w.owners in pids(r), w.roots in pids(r), len(pids(r)) > 2)),
	"daemon.top.stream": (lambda w, n: {}, lambda w, r: "ok"),
	"daemon.events": (lambda w, n: w.stir() or {"limit": 200}, lambda w, r: seen_events(r["events"])),
	"daemon.health": (lambda w, n: {}, lambda w, r: r["status"]),
	"job.start": (lambda w, n: {"job_id": "new%d" % n, "pid": w.spawn(OWNER)}, lambda w, r: "ok"),
	"job.list": (lambda w, n: {}, lambda w, r: " ".join(sorted({j["job_id"] for j in r["jobs"]} & {"owners", "roots"})) or "nothing"),
	"job.report": (lambda w, n: {"job_id": w.named("owners")}, lambda w, r: "ok"),
	"job.profile": (lambda w, n: {"job_id": w.named("owners")}, lambda w, r: "ok"),
	"job.verdict": (lambda w, n: {"processes": [{"pid": w.killed()}]}, lambda w, r: "sees" if r["processes"] else "nothing"),
	"job.mark": (lambda w, n: {"job_id": w.named("owners"), "name": "m"}, lambda w, r: "ok"),
	"job.phase": (lambda w, n: {"job_id": w.named("owners"), "name": "p", "seconds": 1}, lambda w, r: "ok"),
	"sheet.started": (lambda w, n: {"job_id": w.named("owners"), "sheet_num": n, "pid": w.owners}, lambda w, r: "ok"),
	"sheet.completed": (lambda w, n: {"job_id": w.named("owners"), "sheet_num": w.open_sheet(n)}, lambda w, r: "ok"),
	"sheet.failed": (lambda w, n: {"job_id": w.named("owners"), "sheet_num": w.open_sheet(n)}, lambda w, r: "ok"),
	"process.history": (lambda w, n: {"pid": w.owners}, lambda w, r: "sees" if r["points"] else "nothing"),
	"trace.start": (lambda w, n: w.stop_traces() or {"pid": w.owners}, lambda w, r: "ok"),
	"trace.stop": (lambda w, n: {"trace_id": w.owners_trace()}, lambda w, r: r["reason"]),
	"trace.read": (lambda w, n: {"trace_id": w.owners_trace()}, lambda w, r: "ok"),
	"trace.list": (lambda w, n: w.owners_trace() and {}, lambda w, r: "sees" if r["traces"] else "nothing"),
	"context.get": (lambda w, n: {"pid": w.owners}, lambda w, r: "sees" if r["rss_mb"] is not None else "nothing"),
	"pressure.get": (lambda w, n: {}, lambda w, r: "ok"),
	"admit": (lambda w, n: {}, lambda w, r: "ok"),
	"bus.publish": (lambda w, n: {"event": "app.x"}, lambda w, r: "ok"),
	"bus.subscribe": (lambda w, n: {"since_seq": 1}, lambda w, r: "ok"),
	"job.end": (lambda w, n: {"job_id": w.named(w.own_job(n))}, lambda w, r: "ok"),
}


def seen(owners, roots, more):
	return " ".join(word for word, is_so in (("owner's", owners), ("root's", roots), ("all", more)) if is_so) or "nothing"


def seen_events(events):
	jobs = {event["job_id"] for event in events}
	return seen("owners" in jobs, "roots" in jobs, bool(jobs - {"owners", "roots", None}))


def cell(world, method, uid, n):
	def named(job_id):
		return "%d:%s" % (OWNER, job_id) if uid == 0 else job_id

	def open_sheet(num):
		world.call("sheet.started", OWNER, job_id="owners", sheet_num=num, pid=world.owners)
		return num

	def own_job(num):
		world.result("job.start", job_id="end%d" % num, pid=world.spawn(OWNER))
		return "end%d" % num

	def stir():
		"""Something happens in both jobs all the time."""
		wait_for(lambda: seen_events(world.result("daemon.events", limit=200)["events"]) == "owner's root's")

	def killed():
		"""A process of the owner's that was."""
		child = subprocess.Popen(["sleep", "60"], user=OWNER, group=OWNER, extra_groups=[])
		child.kill()
		child.wait()
		return child.pid

	def stop_traces():
		"""A process has one tracer at a time."""
		for one in world.result("trace.list")["traces"]:
			world.result("trace.stop", trace_id=one["trace_id"])

	def owners_trace():
		stop_traces()
		return world.result("trace.start", uid=OWNER, pid=world.owners)["trace_id"]

	world.named, world.open_sheet, world.own_job, world.stir, world.killed, world.stop_traces, world.owners_trace = \
		named, open_sheet, own_job, stir, killed, stop_traces, owners_trace
	params, what = CALLS[method]
	answer = world.call(method, uid, **params(world, n))
	return what(world, answer["result"]) if "result" in answer else answer["error"]["data"]["code"]


def test_every_method_for_every_user_is_as_in_the_table(world):
	methods = world.result("rpc.hello")["capabilities"]
	assert set(methods) == set(CALLS) | {"daemon.monitor.stream"}
	rows, n = [], 100
	for method in methods:
		if method == "daemon.monitor.stream":  # which has no answer
			continue
		cells = []
		for uid in USERS.values():
			n += 1
			cells.append(cell(world, method, uid, n))
		rows.append("%-20s%s" % (method, "".join("%-22s" % text for text in cells)))
	table = "%-20s%s\n" % ("method", "".join("%-22s" % name for name in USERS)) + "\n".join(rows) + "\n"
	table = re.sub(r" +$", "", table, flags=re.M)
	if os.environ.get("PROCTOR_GOLDEN") == "write":
		GOLDEN.write_text(table, encoding="utf-8")
	assert table == GOLDEN.read_text(encoding="utf-8")


def test_a_process_of_somebody_else_cannot_be_made_a_job(world):
	assert world.call("job.start", uid=OTHER, pid=world.owners)["error"]["data"]["code"] == "permission_denied"
	assert world.call("job.start", uid=OTHER, pid=1)["error"]["data"]["code"] == "permission_denied"
	assert world.call("sheet.started", uid=OWNER, job_id="owners", pid=world.roots)["error"]["data"]["code"] == "permission_denied"


def test_root_registers_for_the_owner_of_the_process(world):
	world.result("job.start", job_id="for-owner", pid=world.spawn(OWNER))
	assert "for-owner" in {job["job_id"] for job in world.result("job.list", uid=OWNER)["jobs"]}
	world.result("job.end", uid=OWNER, job_id="for-owner")


def test_root_names_a_recorded_job_by_its_user(world):
	"""Root and the owner have a job of the same id, and each of them means its own by it."""
	for uid, job_type in ((0, "roots-type"), (OWNER, "owners-type")):
		world.result("job.start", uid=uid, job_id="twin", job_type=job_type, pid=world.spawn(uid))
	for name, job_type in (("twin", "roots-type"), ("0:twin", "roots-type"), ("root:twin", "roots-type"), ("%d:twin" % OWNER, "owners-type")):
		wait_for(lambda name=name: "result" in world.call("job.report", job_id=name))
		assert world.result("job.report", job_id=name)["report"]["job"]["job_type"] == job_type
		assert world.result("job.profile", job_id=name)["job_id"] == "twin"
	for method in ("job.report", "job.profile"):
		assert world.call(method, uid=OWNER, job_id="0:twin")["error"]["data"]["code"] == "not_found"
	for uid in (0, OWNER):
		world.result("job.end", uid=uid, job_id="twin")


def test_a_subscriber_receives_only_events_of_its_own_user(world):
	with world.line(OTHER) as other, world.line(OWNER) as owner:
		other.call("bus.subscribe")
		owner.call("bus.subscribe", filter="job.")
		world.result("job.mark", OWNER, job_id="owners", name="secret")
		assert owner.read()["params"]["event"] == "job.mark"
		world.result("bus.publish", uid=OTHER, event="app.mine", data={})
		published = other.read()["params"]
		assert published["event"] == "app.mine"
		world.wait_ticks()  # with all that happens on the machine
		world.result("bus.publish", uid=OTHER, event="app.mine", data={"n": 2})
		assert other.read()["params"]["data"] == {"n": 2}


def test_a_parent_is_a_job_of_the_same_user(world):
	"""Root and the owner have a job `night`, and each of them one inside it."""
	for uid in (0, OWNER):
		world.result("job.start", uid=uid, job_id="night", pid=world.spawn(uid))
		world.result("job.start", uid=uid, job_id="in-%d" % uid, parent_job_id="night", pid=world.spawn(uid))
	def inside(name, uid=None):
		return {job["job_id"] for job in world.result("job.list", uid=uid, recorded=100, parent_job_id=name)["jobs"]}
	assert inside("night") == inside("0:night") == {"in-0"}
	assert inside("%d:night" % OWNER) == inside("night", OWNER) == {"in-%d" % OWNER}
	assert inside("0:night", OWNER) == inside("night", OTHER) == set()
	for name, uid in (("night", 0), ("%d:night" % OWNER, OWNER)):
		listed = json.loads(world.proctor("ls", "--json", "--parent", name).stdout)
		assert {(job["job_id"], job["uid"]) for job in listed["jobs"]} == {("in-%d" % uid, uid)}
	for uid in (0, OWNER):
		for name in ("in-%d" % uid, "night"):
			world.result("job.end", uid=uid, job_id=name)


def test_a_subscription_to_an_id_means_the_callers_own_job(world):
	"""Root and the owner have a job of the same id; it may start later, and root names another user's as USER:ID."""
	with world.line() as roots, world.line() as named, world.line(OWNER) as owner, world.line() as monitor:
		for line, name in ((roots, "pair"), (named, "%d:pair" % OWNER), (owner, "pair")):
			assert "result" in line.call("bus.subscribe", job_id=name, filter="job.")
		monitor.send('{"jsonrpc":"2.0","id":1,"method":"daemon.monitor.stream","params":{"job_id":"pair"}}\n')
		for uid in (OWNER, 0):
			world.result("job.start", uid=uid, job_id="pair", pid=world.spawn(uid))
			world.result("job.mark", uid=uid, job_id="pair", name="of-%d" % uid)
			world.result("job.end", uid=uid, job_id="pair")
		for line, uid in ((roots, 0), (named, OWNER), (owner, OWNER), (monitor, 0)):
			event = {"event": None}
			while event["event"] != "job.mark":
				event = line.read()["params"]
				assert (event["job_id"], event["job_uid"]) == ("pair", uid)
			assert event["data"]["name"] == "of-%d" % uid


def test_events_name_the_user_of_the_job_and_none_without_one(world):
	events = wait_for(lambda: [e for e in world.result("daemon.events", limit=200)["events"] if e["job_id"] in ("owners", "roots")])
	assert {e["job_id"]: e["job_uid"] for e in events}["owners"] == OWNER
	assert all(e["job_uid"] == (OWNER if e["job_id"] == "owners" else 0) for e in events)
	with world.line() as line:
		line.call("bus.subscribe", filter="process.exit")
		event = line.read()["params"]
		while event["job_id"] != "owners":
			event = line.read()["params"]
		assert event["job_uid"] == event["data"]["job_uid"] == OWNER
	with world.line() as line:
		line.call("bus.subscribe", filter="app.alone")
		world.result("bus.publish", uid=OTHER, event="app.alone")
		assert "job_uid" not in line.read()["params"]


def test_the_history_of_another_users_process_does_not_reveal_that_there_is_one(world):
	assert world.result("process.history", uid=OTHER, pid=world.owners, limit=1) == {"pid": world.owners, "points": [], "more": False}


def test_the_command_lines_of_others_are_not_shown(world):
	top = world.result("daemon.top", uid=OTHER)
	assert top["processes"] == [] and top["job_progress"] == []
	assert top["system_memory_total_mb"] > 0  # the machine is everybody's
	assert {p["pid"] for p in world.result("daemon.top", uid=OWNER)["processes"]} >= {world.owners}


def test_nobody_takes_all_connections(world):
	"""64 for one user, and the 65th is refused with the reason; others still come in."""
	lines = []
	try:
		for _ in range(64):
			lines.append(world.line(OTHER))
		with world.line(OTHER) as one_too_many:
			error = one_too_many.read()["error"]
			assert error["data"]["code"] == "too_many_clients" and "user %d has reached its limit of 64" % OTHER in error["message"]
		assert "pid" in world.result("daemon.status", uid=OWNER)
	finally:
		for line in lines:
			line.close()
