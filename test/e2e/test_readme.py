# SPDX-License-Identifier: MIT
"""The README's tour, typed line by line: every command works, and shows what the README shows."""
import os
import re

import pytest

import tour
from conftest import ROOT

# Units change with the figures before them.
WORD = re.compile(r"(?<![\w./-])(?![KMGT]iB)[A-Za-z]{3,}(?![\w./-])")


@pytest.fixture
def shell(proctor, tmp_path):
	"""Types into a shell that finds our program as `proctor`."""
	folder, programs = tmp_path / "tour", tmp_path / "bin"
	folder.mkdir()
	programs.mkdir()
	(programs / "proctor").symlink_to(proctor.binary)
	env = {**proctor.env, "PATH": "%s:/usr/bin:/bin" % programs}
	return lambda command: tour.type_it(command, folder, env)


def labels(lines):
	"""The first word of each line, without figures and names that differ from run to run."""
	words = (WORD.search(line) for line in lines)
	return [word[0] for word in words if word]


@pytest.mark.needs_root
def test_the_tour_can_be_typed_line_by_line(shell):
	steps = tour.steps((ROOT / "README.md").read_text(encoding="utf-8"))
	assert len(steps) > 10
	for command, shown in steps:
		status, seen = shell(command)
		assert status == (137 if "--mem" in command else 0), (command, seen)
		words = set(WORD.findall(seen))
		missing = [label for label in labels(shown) if label not in words]
		assert not missing, "%s\nshows no %s:\n%s" % (command, missing, seen)
