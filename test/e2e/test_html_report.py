# SPDX-License-Identifier: MIT
"""`report --html`, `diff --html` and `report --markdown`: the page in a real browser, as people use it."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, TIMEOUT_S, Proctor
from pagekit import FAILED, Hour

BUILD = Path(os.environ.get("PROCTOR_BUILD_DIR", ROOT / "build-test"))
MODULES = BUILD / "web/npm/node_modules"
MIB = 1 << 20
# Ways out of an element, an attribute, a script, a comment, a string, and into one.
HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=2>\"'><svg onload=window.pwned=3>${window.pwned=4}<!-- [x](javascript:pwned) `|*_"


@pytest.fixture(scope="module", name="pages")
def make_pages(tmp_path_factory):
	"""Path and text of each page."""
	if not MODULES.is_dir():
		pytest.skip("NOT RUN: node and npm were not found, or npm failed, as this was built")
	made = {}
	for name, how in (("hour", {}), ("hostile", {"processes": 40, "seconds": 90, "earlier": 1, "hostile": HOSTILE}),
			  ("failed", {"processes": 60, "seconds": 300, "earlier": 0, "status": FAILED})):
		place = tmp_path_factory.mktemp(name)
		made[name] = Hour(Proctor(place / "state"), **how).page(place)
		if name == "hour":
			hour = Hour(Proctor(tmp_path_factory.mktemp("diff") / "state"), processes=30, seconds=120, earlier=1)
			made["diff"] = hour.page(place / "..", "diff", hour.job_id + ".earlier0", hour.job_id)
	return made


@pytest.fixture(scope="module", name="seen")
def look_at_pages(pages):
	"""What the scenes of browser.mjs saw."""
	shots = os.environ.get("PROCTOR_SHOTS", "")  # a directory for pictures, for people who work on the page
	files = json.dumps({name: str(path) for name, (path, _) in pages.items()})
	done = subprocess.run(["node", str(Path(__file__).parent / "browser.mjs"), files, shots], env={**os.environ, "NODE_MODULES": str(MODULES)},
			      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=4 * TIMEOUT_S, check=False)
	assert done.returncode == 0, done.stderr
	return json.loads(done.stdout)


def test_no_scene_fails_complains_or_asks_for_anything_outside_the_file(seen):
	for name, scene in seen.items():
		assert "error" not in scene, (name, scene.get("error"))
		if name != "policy":
			assert (name, scene["console"], scene["dialogs"]) == (name, [], [])
			assert all(url.startswith("file:///") for url in scene["requests"]) and len(scene["requests"]) == 1, (name, scene["requests"])


def test_the_verdict_is_on_top_and_every_chart_has_its_unit(seen):
	look = seen["look"]
	assert look["head"].startswith("train.py-") and look["title"] == look["head"] + ": ok"
	assert look["verdict"].startswith("train.py · ok · ")
	captions = " | ".join(look["captions"])
	for words in (r"Memory.*used \d\.\d GiB.*3 earlier runs.*allowed 8 GiB", r"CPU.*busy \d\.\d+ cores", r"Storage.*read \d+(\.\d)? MiB/s",
		      r"GPU load.*this job \d+(\.\d+)? %", r"Processes.*alive \d+"):
		assert re.search(words, captions), (words, captions)
	assert look["pictures"] == 0, "scripts replace the pictures that are there without them"


def test_charts_lanes_and_processes_are_drawn(seen):
	assert all(colors > 10 for colors in seen["look"]["colors"]), seen["look"]["colors"]
	assert re.search(r"1,9\d\d exit 0.*failed.*died of a signal", seen["look"]["legend"])


def test_an_hour_of_two_thousand_processes_is_below_a_megabyte(pages):
	_, text = pages["hour"]
	assert len(text.encode()) < MIB
	data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
	run = data["runs"][0]
	assert len(run["processes"]["rows"]) == 2000 and run["band"]["runs"] == 3


def test_the_gap_is_a_gap_and_joined_samples_keep_their_range(pages):
	data = json.loads(re.search(r'id="data">(.*?)</script>', pages["hour"][1], re.S).group(1))
	curves = data["runs"][0]["curves"]
	used, times = curves["used"], curves["t"]
	empty = [i for i, value in enumerate(used["v"][:-1]) if value is None]
	assert len(empty) == 2 and 1800 < times[empty[0]] < 1805 and 1855 < times[empty[1]] < 1865
	assert len(times) < 1100
	for value, low, high in zip(used["v"], used["lo"], used["hi"]):
		assert value is None or low <= value <= high
	assert any(low < high for low, high in zip(used["lo"], used["hi"]) if low is not None)


def at(readout):
	return re.match(r"at (\S+( \d\d[ms])?)", readout).group(1)


def test_cursor_and_zoom_are_shared_by_all_charts(seen):
	zoom = seen["zoom"]
	assert len(zoom["pointed"]) >= 5 and {at(text) for text in zoom["pointed"]} == {at(zoom["pointed"][0])}
	assert re.match(r"at 1[45]m", zoom["pointed"][0])
	assert zoom["hasReset"] and {at(text)[:3] for text in zoom["left"]} <= {"14m", "15m"}, "the window begins where the pointer went down"
	assert zoom["isWhole"] and not re.match(r"at 1[45]m", zoom["after"][0])


def test_everything_can_be_reached_by_keys(seen):
	keys = seen["keyboard"]
	assert "over time" in keys["focused"]
	assert {at(text) for text in keys["moved"]} == {"6m 00s"}
	assert keys["isZoomed"] and keys["isWhole"]
	pid = keys["process"].split()[0]
	assert keys["row"][0] == pid, "the table shows the process that was selected"


def size(text):
	number, unit = text.lstrip("~≥≤").split()
	return float(number) * {"KiB": 1, "MiB": 1024, "GiB": 1024 ** 2}[unit]


def test_tables_sort_and_filter(seen):
	tables = seen["tables"]
	assert tables["byCpu"][1] == "python", "the most CPU time first"
	(down, sorted_down), (up, sorted_up) = tables["down"], tables["up"]
	assert (sorted_down, sorted_up) == ("descending", "ascending") and size(down[5]) > size(up[5])
	assert tables["found"] and all("SIGSEGV" in row for row in tables["found"])
	assert re.search(r"(\d+) of \1 shown", tables["status"])
	assert tables["rows"] == 525
	assert tables["sheets"] == ["3 export", "2 fit", "1 prepare"]


@pytest.mark.parametrize("scene", ["hostile", "hostileWithoutPolicy"])
def test_hostile_names_are_text(seen, scene):
	hostile = seen[scene]
	assert hostile["pwned"] is None
	if scene == "hostile":
		assert hostile["foreign"] == [] and hostile["scripts"] == 2
		for part in ("epoch 0</script><script>", "team=</script>", "onerror=window.pwned=2>"):
			assert part in hostile["text"], part


def test_the_policy_lets_no_other_script_run_and_nothing_be_fetched(seen):
	policy = seen["policy"]
	assert policy["pwned"] is None and len(policy["console"]) >= 2
	assert all(url.startswith("file:///") for url in policy["requests"])


def test_it_can_be_read_without_scripts(seen):
	quiet = seen["quiet"]
	assert quiet["pictures"] == 2
	for words in ("Totals", "allowed", "Sheets", "2 fit", "Most costly processes", "Marks and phases", "Environment", "How far to trust a figure", "sampled"):
		assert words in quiet["text"], words


def test_it_prints_on_white_without_what_needs_a_mouse(seen):
	paper = seen["paper"]
	assert paper["bytes"] > 20000 and not paper["hasFilter"] and paper["ground"] == "rgb(255, 255, 255)"


def test_dark_and_narrow_screens_are_fine(seen):
	assert seen["dark"]["ground"] == "rgb(20, 24, 28)"
	assert seen["narrow"]["overflow"] <= 0


def test_a_failed_job_explains_itself(seen):
	assert "FAILED: exit 3" in seen["failed"]["text"] and "Evidence" in seen["failed"]["text"]


def test_two_runs_lie_over_each_other(seen):
	diff = seen["diff"]
	assert re.search(r"Memory.*train.py-\w+\.earlier0 used .*train.py-\w+ used ", diff["captions"][0])
	assert "earlier0 → train.py-" in diff["text"]


def test_beside_a_median_the_band_shows_the_other_runs(tmp_path, proctor):
	hour = Hour(proctor, processes=5, seconds=30, earlier=2)
	_, text = hour.page(tmp_path, "diff", hour.job_id, "--against", "2")
	runs = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))["runs"]
	assert [(run["id"], run["band"]["runs"]) for run in runs] == [(hour.job_id, 2)]
	assert "<h1>median of 2 → %s</h1>" % hour.job_id in text and "too short" not in text


def test_dash_writes_to_stdout_and_a_bad_place_is_an_error(proctor, tmp_path):
	proctor("run", "--quiet", "--", "true")
	done = proctor("report", "--html", "-")
	assert done.stdout.startswith("<!DOCTYPE html>") and done.stderr == "" and "too short for curves" in done.stdout
	done = proctor("report", "--html", tmp_path / "no/such/place.html")
	assert done.returncode == 1 and "No such file" in done.stderr and "choose another file" in done.stderr
	assert proctor("report", "--html", "x", "--markdown").returncode == 2
	assert proctor("diff", "last", "last", "--html", "x", "--json").returncode == 2


def test_without_the_template_the_error_states_what_to_do(proctor, tmp_path):
	proctor("run", "--quiet", "--", "true")
	shutil.copy2(proctor.binary, tmp_path / "proctor")
	proctor.binary = str(tmp_path / "proctor")
	done = proctor("report", "--html", tmp_path / "x.html")
	assert done.returncode == 1 and "npm" in done.stderr and "-Dweb=enabled" in done.stderr and not (tmp_path / "x.html").exists()


def test_markdown_has_verdict_totals_and_tables(proctor, run):
	run("sh", "-c", "exit 3", options=["--name", "a_b", "--tag", "k=a|b*[x](http://h)", "--tag", "l=@root <b>"])
	done = proctor("report", "--markdown")
	assert done.returncode == 0 and done.stderr == ""
	text = done.stdout
	assert text.startswith("### a\\_b-")
	assert "**" in text and "FAILED: exit 3" in text and "| CPU |" in text and "| exact |" in text
	assert "a\\|b\\*\\[x\\](http\\://h)" in text and "@<!-- -->root &lt;b&gt;" in text
	for line in text.splitlines():
		assert not line.startswith("|") or line.endswith("|"), line
