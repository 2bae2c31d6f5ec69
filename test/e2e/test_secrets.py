# SPDX-License-Identifier: MIT
"""Secrets in command lines, in forty forms (test_redact.c has them all): none reaches a file, a screen or JSON, in any tier."""
import contextlib
import sqlite3
import sys

import pytest

from conftest import wait_for

CANARY = "Xcanary7Zq"
TIERS = [[], ["--no-bpf"]]

# Each is the arguments of one process; the program itself only sleeps.
FORMS = [
	["--password=" + CANARY], ["--password", CANARY], ["--password", CANARY + " two words " + CANARY], ["-password", CANARY],
	["--db-passwd=" + CANARY], ["--apiKey=" + CANARY], ["--api-key", CANARY], ["--token", CANARY], ["--client_secret=" + CANARY],
	["PGPASSWORD=" + CANARY], ["AWS_SECRET_ACCESS_KEY=" + CANARY + "/a+b="], ["GITHUB_TOKEN=" + CANARY],
	["postgres://bob:" + CANARY + "@db/x"], ["https://" + CANARY + "@host/r.git"], ["https://h/?a=1&token=" + CANARY + "&b=2"],
	["-H", "Authorization: Bearer " + CANARY], ["-H", "X-Api-Key: " + CANARY], ["-H", "Cookie: sid=" + CANARY],
	["-d", '{"user":"bob","password":"' + CANARY + '"}'], ["curl", "-u", "bob:" + CANARY], ["mysql", "-p" + CANARY],
	["ghp_" + CANARY + "0123456789abcdefghij"], ["AKIA" + CANARY.upper() + "0000"], ["eyJ" + CANARY + "0123456789.eyJzdWIifQ.c2ln"],
	["DRIVER=x;UID=sa;PWD=" + CANARY], ["--password", "-" + CANARY], ["https://h/b?sv=1&sig=" + CANARY], ["--otp", CANARY], ["MY_KEY=" + CANARY],
	["https://h/b?X-Amz-Signature=" + CANARY], ["-----BEGIN PRIVATE KEY-----\n" + CANARY + "\n-----END PRIVATE KEY-----"],
	["tskey-auth-" + CANARY + "0123456789"], ["https://hooks.slack.com/services/T0/B0/" + CANARY], ["htpasswd", "-b", "f", "bob", CANARY],
	["aws", "configure", "set", "aws_secret_access_key", CANARY], ["vault", "login", CANARY], ["sh", "-c", "echo bob:" + CANARY + " | chpasswd"],
	["sh", "-c", "PGPASSWORD=" + CANARY + " psql -h db"], ["sh", "-c", "tool --password '" + CANARY + "' --host db"],
]


def leaks(data):
	return CANARY.encode() in data or CANARY.upper().encode() in data


def start(children):
	sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
	return [children.spawn(sleeper + form) for form in FORMS]


def recorded(state_dir):
	"""How many of ours."""
	try:
		with contextlib.closing(sqlite3.connect("file:%s/proctor.db?mode=ro" % state_dir, uri=True)) as db:
			return db.execute("SELECT count(*) FROM process WHERE command LIKE '%time.sleep(60)%'").fetchone()[0]
	except sqlite3.OperationalError:
		return 0


@pytest.mark.parametrize("tier", TIERS)
def test_no_secret_is_stored_or_shown(proctor, children, tier, state_dir):
	before = start(children)
	done = proctor("snapshot", "--json", *tier, text=False)
	assert done.returncode == 0 and b"***" in done.stdout and not leaks(done.stdout)
	done = proctor("snapshot", "--all", *tier, text=False)
	assert done.returncode == 0 and not leaks(done.stdout)
	during = children.spawn([proctor.binary, "record", "--interval", "0.5", *tier], env=proctor.env)
	wait_for(lambda: recorded(state_dir) >= len(FORMS))
	start(children)  # seen as exec events too
	wait_for(lambda: recorded(state_dir) >= 2 * len(FORMS))
	during.terminate()
	assert during.wait(timeout=30) == 0
	files = [path for path in state_dir.rglob("*") if path.is_file()]
	assert any(path.stat().st_size > 10000 for path in files)
	for path in files:
		assert not leaks(path.read_bytes()), path
	assert all(child.poll() is None for child in before)


def test_what_is_reported_of_a_job_holds_no_secret(proctor, state_dir, tmp_path):
	script = ["$P mark 'deploy token=%s' password=%s note='with api_key=%s' epoch=3 tokens=17 pin_code=4 passcode=987654321" % ((CANARY,) * 3),
		"$P phase 'load https://bob:%s@host/x' -- true" % CANARY,
		"$P sheet 1/1 --label 'upload --token %s' -- true" % CANARY]
	done = proctor("run", "--out", tmp_path / "out", "--tag", "token=%s x" % CANARY, "--tag", "team=a", "--tag",
		       "note=password=" + CANARY, "--", "env", "P=" + proctor.binary, "sh", "-c", "; ".join(script))
	assert done.returncode == 0, done.stderr
	shown = [proctor(*args, text=False) for args in (
		["report"], ["report", "--json"], ["ls", "--json"], ["events"], ["export", "--format", "jsonl"],
		["export", "--format", "csv", "--what", "events"], ["export", "--format", "chrome-trace"])]
	assert all(one.returncode == 0 and one.stdout for one in shown)
	assert not [one.args for one in shown if leaks(one.stdout)]
	for path in [*state_dir.rglob("*"), *(tmp_path / "out").rglob("*")]:
		assert not path.is_file() or not leaks(path.read_bytes()), path
	events = proctor("events", "--kind", "mark,phase", "--json").stdout
	assert "deploy token=***" in events and "epoch" in events and "17" in events and "987654321" not in events
	assert '"team":"a"' in proctor("ls", "--json").stdout
