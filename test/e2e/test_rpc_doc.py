# SPDX-License-Identifier: MIT
"""Every exchange of docs/rpc.md is what a job really answers."""
import json
import re
from pathlib import Path

from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from door import Job
from runkit import wait_for

DOC = Path(__file__).parent.parent.parent / "docs/rpc.md"
# What differs from run to run; the rest must be as the page has it.
VARIES = {"pid", "uptime_seconds", "timestamp", "started_at", "ended_at", "uid", "version", "cpu_seconds", "cpu_percent", "rss_mb", "memory_usage_mb",
	  "processes", "events", "bytes", "wal_bytes", "jsonl_bytes", "snapshots", "path", "jsonl_path", "tier", "pressure_level", "clients", "peak_rss_mb",
	  "total_cpu_seconds", "max_cpu_pct", "snapshot_id", "start_ticks", "vms_mb", "open_fds", "more", "process_spawn_count",
	  "unique_pid_count", "system_memory_used_mb", "system_memory_total_mb", "seq", "next_seq", "anomalies_active", "capabilities",
	  "allowed_memory_mb", "allowed_memory_source", "allowed_cores", "file", "text", "next_offset", "is_over"}
MAYBE_NULL = {"max_cpu_pct", "cpu_percent", "pressure_level", "pressure_reason", "psi_memory_percent", "processes_limit", "memory_used_mb", "memory_limit_mb",
	      "sheet_metrics", "left_out"}  # a tick is needed for them, or two
DAEMON = "## At the daemon's socket"


def exchanges(text):
	"""(what is sent, what comes back), in the order of the page."""
	lines = re.findall(r"^ {4}([→←]) (.*)$", text, re.M)
	assert [arrow for arrow, _ in lines] == ["→", "←"] * (len(lines) // 2)
	return [(lines[i][1], lines[i + 1][1]) for i in range(0, len(lines), 2)]


def differences(want, got, where="$"):
	if isinstance(want, dict) and isinstance(got, dict):
		if list(want) != list(got):
			yield "%s: %s instead of %s" % (where, list(got), list(want))
		for key in want.keys() & got.keys():
			if key in MAYBE_NULL:
				continue
			if key not in VARIES or want[key] is None or got[key] is None:
				yield from differences(want[key], got[key], "%s.%s" % (where, key))
	elif isinstance(want, list) and isinstance(got, list):
		if len(want) != len(got):
			yield "%s: %d instead of %d" % (where, len(got), len(want))
		for i, (a, b) in enumerate(zip(want, got)):
			yield from differences(a, b, "%s[%d]" % (where, i))
	elif want != got or isinstance(want, bool) != isinstance(got, bool):
		yield "%s: %r instead of %r" % (where, got, want)


def test_the_page_documents_what_a_door_answers(state_dir):
	with Job(state_dir) as job, job.line() as line:
		for sent, want in exchanges(DOC.read_text(encoding="utf-8").split(DAEMON)[0]):
			line.send(sent.replace("PID", str(job.process.pid)) + "\n")
			got = line.read()
			if "SNAPSHOT" in want:
				assert {"timestamp", "processes", "job_progress", "running_jobs"} <= set(got["result"])
			else:
				assert list(differences(json.loads(want), got)) == [], sent


def test_the_page_documents_what_the_daemon_answers(daemon, children):
	sleeper = children.spawn(["sleep", "60"])
	with daemon.line() as line:
		line.call("daemon.top.stream", subscribe=True)
		while line.read()["params"]["seq"] < 3:
			pass
	wait_for(lambda: len(daemon.result("process.history", pid=sleeper.pid)["points"]) > 1)
	with daemon.line() as line:
		for sent, want in exchanges(DOC.read_text(encoding="utf-8").split(DAEMON)[1]):
			line.send(sent.replace("PID", str(sleeper.pid)) + "\n")
			got = line.read()
			want = json.loads(want.replace("TEXT", '"TEXT"').replace("REPORT", '"REPORT"'))
			if "report" in want["result"]:
				assert isinstance(got["result"]["text"], str) and got["result"]["report"]["job_id"] == "nightly-12"
				want["result"]["text"], want["result"]["report"] = got["result"]["text"], got["result"]["report"]
			assert list(differences(want, got)) == [], sent


def test_the_page_has_every_method_and_every_error(state_dir):
	page = DOC.read_text(encoding="utf-8")
	job = Job(state_dir)
	with job.line() as line:
		methods = line.call("rpc.hello")["result"]["capabilities"]
	job.end()
	assert re.findall(r"^### (\S+)$", page, re.M) and set(methods) == set(re.findall(r"^### (\S+)$", page, re.M))
	header = (DOC.parent.parent / "src/rpc/rpc_message.h").read_text(encoding="utf-8")
	for number, word in re.findall(r'X\(E\w+, (-\d+), "(\w+)"\)', header):
		assert re.search(r"^\| %s \|.*`%s`" % (number, word), page, re.M), word
