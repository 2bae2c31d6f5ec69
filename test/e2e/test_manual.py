# SPDX-License-Identifier: MIT
"""Man pages, the sample configuration, and what is installed where."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, clean_environment

BUILD = Path(os.environ.get("PROCTOR_BUILD_DIR", ROOT / "build-test"))
PAGES = BUILD / "docs"


@pytest.fixture
def interface(proctor):
	"""What the program documents itself."""
	done = proctor("describe")
	assert done.returncode == 0, done.stderr
	return json.loads(done.stdout)


def verbs_of(interface):
	return [verb for group in interface["groups"] for verb in group["verbs"]]


def plain(page):
	"""As a reader sees it, in one line."""
	text = subprocess.run(["mandoc", "-Tutf8", "-Owidth=200", page], stdout=subprocess.PIPE, text=True, check=True).stdout
	return " ".join(re.sub(r".\x08", "", text).split())


def page_of(verb):
	found = [PAGES / ("proctor-%s.%d" % (verb, number)) for number in (1, 8)]
	return next(path for path in found if path.exists())


def test_every_verb_has_a_page_with_all_its_options(interface):
	for verb in verbs_of(interface):
		text = plain(page_of(verb["name"]))
		assert "proctor-%s - %s" % (verb["name"], verb["summary"]) in text
		for option in verb["options"]:
			assert "--" + option["name"] in text, (verb["name"], option["name"])
		for title in ("SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"):
			assert title in text, (verb["name"], title)


def test_the_overview_names_every_page_and_each_page_only_those_there_are(interface):
	overview = plain(PAGES / "proctor.1")
	pages = {path.name for path in PAGES.glob("*.[1578]")}
	for verb in verbs_of(interface):
		assert "proctor-" + verb["name"] in overview
	for page in pages:
		for name, number in re.findall(r"\b(proctor[\w.-]*)\((\d)\)", plain(PAGES / page)):
			assert "%s.%s" % (name, number) in pages, (page, name)


def test_pages_pass_mandocs_checks():
	pages = sorted(PAGES.glob("*.[1578]"))
	assert len(pages) > 25
	done = subprocess.run(["mandoc", "-Tlint", *pages], capture_output=True, text=True, check=False)
	assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_examples_of_pages_use_options_that_exist(interface):
	options = {verb["name"]: {"--" + o["name"] for o in verb["options"]} | {"-" + (o["letter"] or o["name"]) for o in verb["options"]} for verb in verbs_of(interface)}
	seen = 0
	for template in (ROOT / "docs/man").glob("*.scd"):
		for line in re.findall(r"\bproctor ([a-z]+)((?: [^|;)\n`*]+)?)", "\n".join(re.findall(r"```\n(.*?)```", template.read_text(encoding="utf-8"), re.S))):
			verb, rest = line[0], line[1].split(" -- ")[0]
			if verb == "help":
				continue
			for option in re.findall(r"(?<!\S)(--?[a-z][a-z-]*)", rest):
				assert option in options[verb], (template.name, verb, option)
				seen += 1
	assert seen > 20


def test_the_configuration_has_a_page_and_a_sample_with_every_key(proctor, interface, tmp_path):
	page, sample = plain(PAGES / "proctor.conf.5"), (PAGES / "proctor.conf.sample").read_text(encoding="utf-8")
	for key in interface["keys"]:
		assert "%s = %s" % (key["name"], key["default"]) in page, key
		assert "\n#%s = %s\n" % (key["name"], key["default"]) in sample, key
	for path, text in (("as-it-is.conf", sample), ("all-set.conf", re.sub(r"^#(?=\w)", "", sample, flags=re.M))):
		(tmp_path / path).write_text(text, encoding="utf-8")
		done = proctor("--config", tmp_path / path, "doctor", "--json")
		assert done.returncode == 0, done.stderr
		assert str(tmp_path / path) in done.stdout
	assert len(re.findall(r"^\w+ = ", (tmp_path / "all-set.conf").read_text(encoding="utf-8"), re.M)) == len(interface["keys"])


def test_the_protocol_has_a_page_with_every_method():
	text = plain(PAGES / "proctor-protocol.7")
	methods = re.findall(r'X\("([\w.]+)", method_', (ROOT / "src/serve/methods.h").read_text(encoding="utf-8"))
	assert len(methods) > 20 and [name for name in methods if name not in text] == []


def test_everything_is_installed_where_it_is_searched(interface, tmp_path):
	done = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", tmp_path], capture_output=True, text=True,
			      env={**clean_environment(), "PATH": os.environ["PATH"]}, check=False)
	assert done.returncode == 0, done.stdout + done.stderr
	share = next(tmp_path.glob("**/share"))
	for path in ("bash-completion/completions/proctor", "zsh/site-functions/_proctor", "fish/vendor_completions.d/proctor.fish",
		     "doc/proctor/proctor.conf.sample", "doc/proctor/configuration.md", "doc/proctor/README.md", "man/man1/proctor.1",
		     "man/man5/proctor.conf.5", "man/man7/proctor-protocol.7", "man/man8/proctor-daemon.8"):
		assert (share / path).is_file(), path
	installed = {path.name for path in (share / "doc/proctor").iterdir()}
	assert {path.name for path in (ROOT / "docs").glob("*.md")} <= installed
	assert len(list((share / "man/man1").iterdir())) == len(verbs_of(interface))  # proctor.1, and all but the daemon's
	shutil.rmtree(tmp_path)
