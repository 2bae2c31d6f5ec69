# SPDX-License-Identifier: MIT
"""`report` and `diff` with --html and --markdown: the page in a real browser, as people use it."""
import json
import os
import re
import resource
import shutil
import signal
import socketserver
import subprocess
import threading
from pathlib import Path

import pytest

from conftest import ROOT, TIMEOUT_S, Proctor
from daemonkit import cold, daemon  # noqa: F401 pylint: disable=unused-import
from pagekit import FAILED, Hour

BUILD = Path(os.environ.get("PROCTOR_BUILD_DIR", ROOT / "build-test"))
MODULES = BUILD / "web/npm/node_modules"
MIB = 1 << 20
NOBODY = 65534
# Ways out of an element, an attribute, a script, a comment, a string, and into one.
HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=2>\"'><svg onload=window.pwned=3>${window.pwned=4}<!-- [x](javascript:pwned) `|*_"


@pytest.fixture(scope="module", name="pages")
def make_pages(tmp_path_factory):
	"""Path and text of each page."""
	if not MODULES.is_dir():
		pytest.skip("NOT RUN: node and npm were not found, or npm failed, as this was built")
	made = {}
	for name, how in (("hour", {}), ("hostile", {"processes": 40, "seconds": 90, "earlier": 1, "hostile": HOSTILE}),
			  ("failed", {"processes": 60, "seconds": 300, "earlier": 0, "status": FAILED, "zombies": 40})):
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


def test_what_was_used_of_what_was_allowed_is_seen_at_a_glance(seen):
	gauges = [" ".join(text.split()) for text in seen["look"]["gauges"]]
	assert [gauge.split()[0] for gauge in gauges] == ["Time", "Memory", "CPU", "Processes", "Request"]
	assert re.fullmatch(r"Memory used ~4\.\d GiB of 8\.0 GiB \(own limit\)", gauges[1]) and re.match(r"Request next time --mem \dG", gauges[4])


def test_the_table_of_processes_takes_the_place_of_the_most_costly_ones(seen):
	titles = seen["look"]["titles"]
	assert titles[:5] == ["Totals", "Over time", "Sheets", "Programs", "Processes"] and "Most costly processes" not in titles
	assert "Marks and phases" in titles


def test_charts_lanes_and_processes_are_drawn(seen):
	assert all(colors > 10 for colors in seen["look"]["colors"]), seen["look"]["colors"]
	count = re.search(r"Processes 2,000 (\d+ failed), (\d+ died of a signal)", " ".join(seen["look"]["gauges"][3].split()))
	assert re.search(r"1,9\d\d exit 0%s%s$" % count.groups(), seen["look"]["legend"]), "both count alike"


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
	empty = [i for i, value in enumerate(used["v"]) if value is None]
	assert len(empty) == 1 and 1800 < times[empty[0]] < 1803 and 1858 < times[empty[0] + 1] < 1862
	assert all(curve["v"][empty[0]] is None for key, curve in curves.items() if key != "t")
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
	assert "above this chart" not in zoom["allowed"][0] and zoom["allowed"][1] == "allowed 8 GiB, above this chart", "the legend has no line then"
	assert zoom["isWhole"] and not re.match(r"at 1[45]m", zoom["after"][0])


def test_everything_can_be_reached_by_keys(seen):
	keys = seen["keyboard"]
	assert "over time" in keys["focused"]
	assert {at(text) for text in keys["moved"]} == {"6m 00s"}
	assert keys["isZoomed"] and keys["isWhole"]
	assert keys["moment"][0] == "phase load, at 36s, took 3m 36s" and keys["moment"][1].startswith("at 36s"), "the second one, and the cursor at it"
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


def test_a_wide_dark_window_prints_as_wide_as_the_paper_with_more_processes(seen):
	before, printed, after = (seen["paper"][when] for when in ("screen", "printed", "screenAgain"))
	assert max(before["widths"]) > 1000 and after == before
	assert 600 < max(printed["widths"]) <= 688, "A4 within its margins"
	assert (before["text"], printed["text"]) == ("#e4e8eb", "#1c2126")
	assert (before["rows"], printed["rows"]) == (25, 200)
	assert (seen["paper"]["hasButtons"], seen["paper"]["head"]) == (False, '"pid"'), "heads with buttons are not repeated on each page"
	assert printed["note"] == "200 of 2,000 processes, by cpu; the rest is in the page itself"


def test_dark_and_narrow_screens_are_fine(seen):
	assert seen["dark"]["ground"] == "rgb(20, 24, 28)"
	assert seen["narrow"]["overflow"] <= 0
	assert seen["narrow"]["commandWidth"] > 250, "else a long command makes its row as high as the screen"


def test_a_failed_job_explains_itself(seen):
	assert "FAILED: exit 3" in seen["failed"]["text"] and "Evidence" in seen["failed"]["text"]


def test_many_anomalies_at_a_time_do_not_hide_the_curves(seen):
	assert min(seen["failed"]["ground"]) > 0.75, "the most frequent colour of a chart is pale"


def test_two_runs_lie_over_each_other(seen):
	diff = seen["diff"]
	assert re.search(r"Memory.*A used .*B used ", diff["captions"][0])
	assert re.search(r"A train.py-\w+\.earlier0 → B train.py-", diff["text"])
	assert {"took A", "took B", "B ÷ A"} <= set(diff["heads"]), diff["heads"]
	for table in diff["tables"]:
		assert len(table) == len(set(table)), "no two columns have one name"


def test_beside_a_median_the_band_shows_the_other_runs(tmp_path, proctor):
	hour = Hour(proctor, processes=5, seconds=30, earlier=2)
	_, text = hour.page(tmp_path, "diff", hour.job_id, "--against", "2")
	runs = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))["runs"]
	assert [(run["id"], run["band"]["runs"]) for run in runs] == [(hour.job_id, 2)]
	assert "<h1>A median of 2 → B %s</h1>" % hour.job_id in text and "too short" not in text


def test_dash_writes_to_stdout_and_a_bad_place_is_an_error(proctor, tmp_path):
	proctor("run", "--quiet", "--", "true")
	done = proctor("report", "--html", "-")
	assert done.stdout.startswith("<!DOCTYPE html>") and done.stderr == ""
	assert "too short for curves" in done.stdout or "<svg viewBox" in done.stdout  # there are samples if the machine is busy
	done = proctor("report", "--html", tmp_path / "no/such/place.html")
	assert done.returncode == 1 and "No such file" in done.stderr and "choose another file" in done.stderr
	assert proctor("report", "--html", "x", "--markdown").returncode == 2
	assert proctor("diff", "last", "last", "--html", "x", "--json").returncode == 2


def hold_back(limit):
	"""As a full disk would: no file gets larger than that."""
	signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
	resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def test_a_page_is_replaced_as_a_whole_or_not_at_all(proctor, tmp_path):
	proctor("run", "--quiet", "--", "true")
	page, link = tmp_path / "page.html", tmp_path / "link.html"
	page.write_text("old", encoding="ascii")
	page.chmod(0o640)
	link.symlink_to(page)
	done = proctor("report", "--html", page, preexec_fn=lambda: hold_back(40000))
	assert done.returncode == 1 and str(page) in done.stderr and "choose another file" in done.stderr
	assert page.read_text(encoding="ascii") == "old" and sorted(os.listdir(tmp_path)) == ["link.html", "page.html"]
	assert proctor("report", "--html", link).returncode == 0
	assert link.is_symlink() and page.read_text(encoding="utf-8").endswith("</html>\n") and page.stat().st_mode & 0o777 == 0o640
	assert sorted(os.listdir(tmp_path)) == ["link.html", "page.html"]


def test_what_is_no_file_is_written_to_as_it_is(proctor, tmp_path):
	proctor("run", "--quiet", "--", "true")
	assert proctor("report", "--html", "/dev/stdout").stdout.endswith("</html>\n")
	log = tmp_path / "log.html"
	for _ in range(2):
		with log.open("ab") as out:
			subprocess.run([proctor.binary, "report", "--html", "/dev/stdout"], env=proctor.env, stdout=out, check=True)
	assert log.read_text(encoding="utf-8").count("</html>") == 2
	fifo = tmp_path / "fifo"
	os.mkfifo(fifo)
	with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE, text=True) as cat:
		assert proctor("report", "--html", fifo).returncode == 0
		assert cat.stdout.read().endswith("</html>\n")
	done = proctor("report", "--html", "/dev/full")
	assert done.returncode == 1 and "No space left" in done.stderr


def bring_template(as_nobody):
	(as_nobody.place / "web").mkdir()
	shutil.copy(BUILD / "web/report-page.html", as_nobody.place / "web")


@pytest.mark.needs_root
def test_a_file_in_a_directory_of_others_is_written_in_place_if_that_is_allowed(as_nobody):
	bring_template(as_nobody)
	assert as_nobody("run", "--quiet", "--", "true").returncode == 0
	page = as_nobody.place / "web" / "page.html"  # the directory is root's
	page.write_text("old", encoding="ascii")
	page.chmod(0o644)
	done = as_nobody("report", "--html", page)
	assert done.returncode == 1 and "Permission denied" in done.stderr and page.read_text(encoding="ascii") == "old"
	page.chmod(0o666)
	assert as_nobody("report", "--html", page).returncode == 0 and page.read_text(encoding="utf-8").endswith("</html>\n")


@pytest.fixture(name="shared")
def make_shared(tmp_path):
	"""A directory that all users share, as /tmp, on a system that does not follow links that other users planted there."""
	switch = Path("/proc/sys/fs/protected_symlinks")
	before = switch.read_text(encoding="ascii")
	try:
		switch.write_text("1", encoding="ascii")
	except OSError:
		pytest.skip("NOT RUN: fs.protected_symlinks cannot be set here")
	place = tmp_path / "shared"
	place.mkdir()
	place.chmod(0o1777)
	try:
		yield place
	finally:
		switch.write_text(before, encoding="ascii")


@pytest.mark.needs_root
@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_that_another_user_planted_is_not_followed(proctor, tmp_path, shared, is_there):
	proctor("run", "--quiet", "--", "true")
	target, link = tmp_path / "passwd", shared / "r.html"
	if is_there:
		target.write_text("root:x:0:0", encoding="ascii")
	link.symlink_to(target)
	os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
	done = proctor("report", "--html", link)
	assert done.returncode == 1 and "Permission denied" in done.stderr and "choose another file" in done.stderr
	assert link.is_symlink() and target.exists() == is_there and os.listdir(shared) == ["r.html"]
	assert not is_there or target.read_text(encoding="ascii") == "root:x:0:0"


@pytest.mark.needs_root
def test_no_file_of_ours_is_given_to_another_user(proctor, shared):
	"""What another user made there is written in place, as a shell's redirection does, and nothing takes its name."""
	proctor("run", "--quiet", "--", "true")
	page = shared / "r.html"
	page.write_text("old", encoding="ascii")
	os.chown(page, NOBODY, NOBODY)
	before = page.stat()
	assert proctor("report", "--html", page).returncode == 0
	after = page.stat()
	assert (after.st_ino, after.st_uid) == (before.st_ino, NOBODY) and page.read_text(encoding="utf-8").endswith("</html>\n")
	os.chown(page, 0, 0)
	page.chmod(0o640)
	assert proctor("report", "--html", page).returncode == 0
	assert page.stat().st_ino != before.st_ino and (page.stat().st_uid, page.stat().st_mode & 0o777) == (0, 0o640)


def test_without_the_template_the_error_states_what_to_do(proctor, tmp_path):
	proctor("run", "--quiet", "--", "true")
	shutil.copy2(proctor.binary, tmp_path / "proctor")
	proctor.binary = str(tmp_path / "proctor")
	done = proctor("report", "--html", tmp_path / "x.html")
	assert done.returncode == 1 and "npm" in done.stderr and "-Dweb=enabled" in done.stderr and not (tmp_path / "x.html").exists()


@pytest.mark.needs_root
def test_a_job_that_only_the_daemon_has_can_be_a_page(daemon, as_nobody, children):
	worker = children.spawn(["sleep", "63.9"], user=NOBODY)
	assert daemon.result("job.start", NOBODY, job_id="seen", pid=worker.pid)["stored"] is True
	daemon.wait_ticks(3)
	daemon.result("job.end", NOBODY, job_id="seen", exit_code=3)
	bring_template(as_nobody)
	page = as_nobody("report", "seen", "--html", "-", env={"PROCTOR_SOCKET": str(daemon.socket)})
	assert (page.returncode, page.stderr) == (0, "")
	assert "<h1>seen</h1>" in page.stdout and "FAILED: exit 3" in page.stdout
	run = json.loads(re.search(r'id="data">(.*?)</script>', page.stdout, re.S).group(1))["runs"][0]
	assert run["id"] == "seen" and len(run["curves"]["t"]) >= 3 and "sleep 63.9" in run["processes"]["texts"]


class OldDaemon(socketserver.StreamRequestHandler):
	"""As one that does not know the parameter `format`, and ignores it."""

	ANSWERS = {
		"job.list": {"store": "/nowhere/proctor.db", "jobs": [{"job_id": "kept", "uid": os.geteuid(), "job_type": "t", "status": "running", "started_at": 1.5e9}]},
		"job.report": {"job_id": "kept", "text": "t", "report": {}},
	}

	def handle(self):
		for line in self.rfile:
			call = json.loads(line)
			answer = {"jsonrpc": "2.0", "id": call["id"], "result": self.ANSWERS[call["method"]]}
			self.wfile.write(json.dumps(answer).encode() + b"\n")


@pytest.mark.parametrize("form", [["--html", "x.html"], ["--markdown"]])
def test_an_older_daemon_has_to_be_restarted_first(proctor, tmp_path, form):
	path = str(tmp_path / "socket")
	with socketserver.ThreadingUnixStreamServer(path, OldDaemon) as server:
		threading.Thread(target=server.serve_forever, daemon=True).start()
		done = proctor("report", "kept", *form, env={"PROCTOR_SOCKET": path}, cwd=tmp_path)
		server.shutdown()
	assert (done.returncode, done.stdout) == (4, "") and "is older than this proctor" in done.stderr and "systemctl restart proctor" in done.stderr
	assert not (tmp_path / "x.html").exists()


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


def test_two_runs_as_markdown_name_their_columns_and_check_conditions(proctor, run):
	for code in (0, 3):
		run("sh", "-c", "exit %d" % code, options=["--name", "a_b"])
	done = proctor("diff", "a_b~1", "a_b", "--markdown", "--fail-if", "failed>0")
	assert done.returncode == 1 and "failed: failed>0" in done.stderr
	assert re.match(r"### A a\\_b-\w+ → B a\\_b-\w+\n\s+exit 3 instead of ok; ", done.stdout)
	assert re.search(r"\|  \| A a\\_b-\w+ \| B a\\_b-\w+ \| B ÷ A \|\n\|---\|--:\|--:\|--:\|\n", done.stdout) and "|   failed | 0 | 1 |" in done.stdout
	assert proctor("diff", "last", "last", "--html", "x", "--markdown").returncode == 2
