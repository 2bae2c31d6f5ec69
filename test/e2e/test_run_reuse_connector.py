# SPDX-License-Identifier: MIT
"""Pids that are used again, on the proc connector: it is silent in pid namespaces, so other processes of the machine take pids, too."""
import pytest

from test_run_reuse import Disturbed, outsider, short_lives, three_lives

pytestmark = [pytest.mark.needs_root, pytest.mark.tier("connector")]

TRIES = 6


@pytest.mark.parametrize("story", [three_lives, short_lives, outsider], ids=lambda story: story.__name__)
def test_processes_of_one_pid_are_distinguished(run, story):
	"""Repeats a story whose recorder lost events, a few times."""
	for left in reversed(range(TRIES)):
		try:
			story(run, "connector")
			return
		except Disturbed:
			if not left:
				raise
			run.proctor.state_dir = run.proctor.state_dir.with_name(run.proctor.state_dir.name + "-again")
			run.env["PROCTOR_STATE_DIR"] = run.proctor.env["PROCTOR_STATE_DIR"] = str(run.proctor.state_dir)
