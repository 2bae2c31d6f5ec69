# SPDX-License-Identifier: MIT
"""The README's tour, typed line by line: every command works, and shows what the README shows, line for line. What differs from
run to run and from machine to machine (times, sizes, shares, ids) is left out; words, lines and counts of processes and sheets are not."""
import difflib
import re

import pytest

import tour
from conftest import ROOT

MORE = "…"  # the README leaves out what follows

# In this order, on lines whose blanks are single ones. A figure may be marked as sampled or as a lower bound.
FIGURES = [(re.compile(pattern), put) for pattern, put in (
	(r"^\d+ \S+ [\d.-]+ [\d.-]+[KMGT]? .*", "PROCESS"),  # any may be the busiest
	(r"(?<=RSS )PSS ", ""),  # not known in time of anybody
	(r"(?<!\S)/\S+", "PATH"),
	(r"(pipeline\.sh|train\.py)-[0-9a-z]{8}\b", r"\1-ID"),
	(r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d|\d\d:\d\d (today|yesterday)", "WHEN"),
	(r"[▁-█░]+", "BAR"),
	(r"[~≥+]?\b(\d+[mhd] ?\d\d[\d.]*[smh]|\d[\d.]*[mµn]?s|\d[\d.]* s)\b", "TIME"),  # "1m 02s", "+1m02.0s", "853ms", "0.23 s"
	(r"[~≥]?\b\d[\d.,]* ([KMGT]i)?B\b", "SIZE"),
	(r"[~≥]?\b\d[\d.]* %", "SHARE"),
	(r"\b\d[\d.]*( of \d+)? cores?\b", "CORES"),
	(r"(?<=SIZE) - (?=\d)", " SHARE "),  # of a process too short-lived for a sample
	(r"(?<=^Recorder TIME CPU), SHARE of a core(?=,)", ""),  # left out of a job of less than a second
	(r"\bhost \S+, user \S+", "host HOST, user USER"),
	(r"(?<=largest process, python3 )\d+", "PID"),
	(r"(?<=^process python3 )\d+", "PID"),
	(r"SIZE used( at TIME)?(, SHARE of SIZE allowed \(own limit\))? (sampled TIME|at most)$", r"SIZE used\2"),  # at most: it was too short for a tick
	(r"^(TIME \w+ )\d+", r"\1PID"),
	(r"^(Watched by ).*", r"\1" + MORE),
	(r"\b\d[\d,]* (snapshots|events)\b", r"N \1"),
	(r"^(WHEN )\d+ exit .*", r"\1PID exit " + MORE),  # of anybody
	(r"(?<=^next --mem )\d+[MG]", "SIZE"),
	(r"\b\d+\.\d+$|\b\d+\.\d+(?= )", "NUMBER"),
)]
# What a machine is like is described in words, too.
MACHINE = [(re.compile(pattern), put) for pattern, put in (
	(r"\bLinux [^ ,]+", "Linux VERSION"),
	(r"^\S+ (?=WHEN up )", "HOST "),
	(r"^(cpu|memory|stalls|limits|processes|tasks|system|cgroup|lifecycle|detail) .*", r"\1 " + MORE),
	(r"\bof \d[\d,]* processes\b", "of N processes"),
)]
# They depend on what is cached, on what is built in, and on whether a job took the ten seconds from which on its memory is known well enough.
SOMETIMES = re.compile(r"i/o |gpu |[\d.]+ [KMG]?i?B charged exact|next --mem \S+, used ", re.IGNORECASE)


@pytest.fixture
def shell(proctor, tmp_path):
	"""Types into a shell that finds our program as `proctor`."""
	folder, programs = tmp_path / "tour", tmp_path / "bin"
	folder.mkdir()
	programs.mkdir()
	(programs / "proctor").symlink_to(proctor.binary)
	env = {**proctor.env, "PATH": "%s:/usr/bin:/bin" % programs}
	return lambda command: tour.type_it(command, folder, env)


def without_figures(command, lines):
	rules = FIGURES + (MACHINE if re.search(r"proctor (snapshot|doctor)\b", command) else [])
	for line in lines:
		line = " ".join(line.split())
		if not line or SOMETIMES.match(line):
			continue
		for pattern, put in rules:
			line = pattern.sub(put, line)
		yield line


def difference(command, shown, seen):
	"""Between what the README shows and what was seen; empty: none that matters."""
	shown, seen = list(without_figures(command, shown)), list(without_figures(command, seen.splitlines()))
	if shown and shown[-1] == MORE:
		shown.pop()
		seen = seen[:len(shown)]
	return "\n".join(difflib.unified_diff(shown, seen, "README.md", "seen", lineterm=""))


def test_a_tour_that_shows_something_else_is_noticed():
	seen = "  procs   9 started, 0 failed    exact\n  1 prepare  853ms  739ms  1.6 MiB   ~105 %      3  ok\n"
	same = ["  procs   9 started, 0 failed          exact", "  1 prepare   1.5s   2m 03s  2.7 MiB    -      3  ok"]
	assert difference("proctor report", same, seen) == ""
	assert difference("proctor report", [same[0], "  …"], seen) == ""
	for other in (same[:1], same[1:], same + ["  in   /tmp/demo"], [same[0].replace("9", "12"), same[1]], [same[0], same[1].replace(" 3 ", " 5 ")],
		      [same[0].replace("exact", "at least"), same[1]]):
		assert difference("proctor report", other, seen) != "", other


@pytest.mark.needs_root
def test_the_tour_can_be_typed_line_by_line(shell):
	steps = tour.steps((ROOT / "README.md").read_text(encoding="utf-8"))
	assert len(steps) > 10
	for command, shown in steps:
		status, seen = shell(command)
		assert status == (137 if "--mem" in command else 0), (command, seen)
		assert not difference(command, shown, seen), "%s\n%s\n%s" % (command, difference(command, shown, seen), seen)
