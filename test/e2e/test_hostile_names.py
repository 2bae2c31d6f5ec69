# SPDX-License-Identifier: MIT
"""Processes that choose their names to hurt: right numbers, escaped on screens, valid JSON."""
import json
import os
import re
import sys

import pytest

NAMES = [b") R 1 1 (", b"a\nb", b"\x1b[31mred", b"\xff\xfe\x80", b"", b"q\"'\\", b"%n%s%d", b"\xc2\x9b2J", b"\xe2\x80\xaeevil", b"(((", b")))"]
TIERS = [[], ["--no-bpf"]]

RENAMED = """
import ctypes, sys, time
ctypes.CDLL(None).prctl(15, bytes.fromhex(sys.argv[1]), 0, 0, 0)
print("ready", flush=True)
time.sleep(60)
"""


def is_safe(text):
	return not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", text)


def take(proctor, *args):
	done = proctor("snapshot", "--json", *args, text=False)
	assert (done.returncode, done.stderr) == (0, b"")
	return {p["pid"]: p for p in json.loads(done.stdout.decode("utf-8", "strict"))["processes"]}


@pytest.mark.parametrize("tier", TIERS)
def test_hostile_names_leave_the_numbers_right(proctor, children, tier):
	started = [(name, children.python(RENAMED, name.hex(), stdout=-1)) for name in NAMES]
	for _, child in started:
		assert child.stdout.readline() == b"ready\n"
	seen = take(proctor, *tier)
	assert is_safe(proctor("snapshot", "--json", "--all", *tier).stdout)
	for name, child in started:
		process = seen[child.pid]
		assert process["state"] == "S", name
		assert process["ppid"] == os.getpid(), name
		assert process["threads"] == 1 and process["rss_mb"] > 1, name
	text = proctor("snapshot", "--all", *tier, text=False)
	assert (text.returncode, text.stderr) == (0, b"")
	assert is_safe(text.stdout.decode("utf-8", "strict"))


HOSTILE_ARGUMENTS = [b"\x1b]52;c;ZXZpbA==\x07", b"line\nbreak", b"\xff\xfe", b"\xc2\x9b31m", "\u202eevil".encode(), b"tab\there", b"%n%s",
		     b"\xed\xa0\x80", b"\xf4\x90\x80\x80", "wide 日本".encode()]


@pytest.mark.parametrize("tier", TIERS)
def test_hostile_arguments_are_escaped(proctor, children, tier):
	child = children.spawn([os.fsdecode(a) for a in [b"sleep", b"60"]])
	hostile = children.spawn([sys.executable, "-c", "import time; time.sleep(60)", *map(os.fsdecode, HOSTILE_ARGUMENTS)])
	seen = take(proctor, *tier)
	assert seen[child.pid]["command"] == "sleep 60"
	command = seen[hostile.pid]["command"]
	for word in ("line\nbreak", "tab\there", "%n%s", "wide 日本", "\ufffd"):
		assert word in command
	assert is_safe(proctor("snapshot", "--json", "--all", *tier).stdout)
	text = proctor("snapshot", "--all", *tier, text=False).stdout.decode("utf-8", "strict")
	assert is_safe(text)
	(line,) = [line for line in text.splitlines() if line.split()[:1] == [str(hostile.pid)]]
	for word in (r"\x1b]52;", r"line\nbreak", r"\xff\xfe", r"\u{9b}31m", r"\u{202e}evil", r"tab\x09here", "wide 日本"):
		assert word in line


@pytest.mark.parametrize("tier", TIERS)
def test_two_mebibytes_of_arguments_are_cut(proctor, children, tier):
	big = children.spawn(["/bin/sh", "-c", "sleep 60; :", *["x" * 100000] * 19])
	process = take(proctor, *tier)[big.pid]
	assert process["command"].startswith("/bin/sh -c sleep 60")
	assert len(process["command"].encode()) <= 500
	assert process["ppid"] == os.getpid()
	done = proctor("snapshot", "--all", *tier)
	assert max(map(len, done.stdout.splitlines())) < 1000
