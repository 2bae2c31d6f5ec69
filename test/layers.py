# SPDX-License-Identifier: MIT
"""What must hold for the whole tree: who may include whom, where SQL may stand, how long a function may be.

The table is ARCHITECTURE.md's. `problems(root)` returns one line for each thing that is wrong; run as a program it
prints them.
"""
import ast
import re
import sys
from pathlib import Path

FILE_LINES_MAX = 700
FUNCTION_LINES_MAX = 80

ROOMS = {
	"base": "",
	"model": "base",
	"probe": "base model",
	"job": "base model probe",
	"analyze": "base model",
	"store": "base model",
	"engine": "base model probe job analyze store",
	"rpc": "base model",
	"config": "base model",
	"serve": "base model job engine store analyze rpc",
	"daemon": "base model probe job analyze store engine rpc config serve",
	"lib": "base rpc config",
	"view": "base model",
	"web": "base model rpc view",
	"cli": "base model probe job analyze store engine rpc config serve lib view",
}
# The one door to a room that nobody else may enter.
EXCEPTIONS = {"cli/daemon.c": "daemon"}

# Libraries that are one room's business.
LIBRARIES = {
	"sqlite3.h": "store",
	"bpf/": "probe",
	"linux/bpf": "probe",
	"systemd/": "daemon",
	"curses.h": "view",
	"ncurses": "view",
	"microhttpd.h": "web",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
SQL = re.compile(r"\b(SELECT\s.+\sFROM|INSERT\s+INTO|CREATE\s+(TABLE|VIEW|INDEX)|DELETE\s+FROM|UPDATE\s+\w+\s+SET|"
		 r"PRAGMA\s+\w+|BEGIN\s+IMMEDIATE)\b", re.I | re.S)
# Made at build time: they lie in no room.
GENERATED = re.compile(r"^\w+\.l?skel\.h$")
# Paths of the machine where somebody happened to write this (put together here, so that this line is not one).
PLACES = re.compile("/tmp/" + r"wt\b|(?<![\w.}])/" + r"work/")
TEXT = {".c", ".h", ".py", ".md", ".build", ".txt", ".sh", ".sql", ".yml", ".scd", ".conf", ".service", ""}


def split(text):
	"""The code with comments and strings blanked (lines kept), and the string literals."""
	strings = []

	def blank(match):
		found = match.group()
		if found[0] == '"':
			strings.append(found[1:-1])
			return '""'
		return re.sub(r"[^\n]", " ", found)

	return COMMENT_OR_STRING.sub(blank, text), strings


def room_of(path):
	"""base for src/base/buf.c."""
	return path.split("/")[1]


def check_includes(path, text):
	room = room_of(path)
	if room not in ROOMS:
		yield "%s: unknown room '%s'" % (path, room)
		return
	allowed = set(ROOMS[room].split()) | {room, EXCEPTIONS.get(path.removeprefix("src/"))}
	for kind, name in INCLUDE.findall(text):
		if kind == "<":
			for library, rooms in LIBRARIES.items():
				if name.startswith(library) and room not in rooms.split():
					yield "%s: <%s> belongs to %s/" % (path, name, rooms.replace(" ", "/ and "))
		elif GENERATED.match(name.split("/")[-1]):
			if room != "probe":
				yield "%s: '%s' belongs to probe/" % (path, name)
		elif "/" not in name:
			if not path.endswith(".bpf.c"):
				yield "%s: include \"%s\" as \"room/file.h\"" % (path, name)
		elif name.split("/")[0] not in allowed:
			yield "%s: %s/ may not include \"%s\"" % (path, room, name)


def check_contents(path, text):
	room, (code, strings) = room_of(path), split(text)
	if room != "store":
		if re.search(r"\bsqlite3(_\w+)?\b", code):
			yield "%s: sqlite3 is used outside store/" % path
		for literal in strings:
			if SQL.search(literal):
				yield "%s: SQL outside store/: \"%s\"" % (path, literal[:60])
	if re.search(r"\bsqlite3_open(16)?\b", code):
		yield "%s: databases are opened by sqlite3_open_v2" % path
	if room in ("probe", "model"):
		for literal in strings:
			if re.match(r"/(proc|sys)\b", literal):
				yield "%s: absolute path \"%s\": the root is given" % (path, literal[:60])


def check_c_sizes(path, text):
	begin = 0
	for number, line in enumerate(text.splitlines(), 1):
		if line == "{":
			begin = number
		elif line == "}" and begin:
			if number - begin + 1 > FUNCTION_LINES_MAX:
				yield "%s:%d: a function of %d lines" % (path, begin, number - begin + 1)
			begin = 0


def check_python_sizes(path, text):
	for node in ast.walk(ast.parse(text)):
		if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno + 1 > FUNCTION_LINES_MAX:
			yield "%s:%d: a function of %d lines" % (path, node.lineno, node.end_lineno - node.lineno + 1)


def is_source(path, text):
	return path.endswith((".c", ".h", ".py")) or text.startswith("#!")


def check_file(path, text):
	"""What any file of the project must keep."""
	if PLACES.search(text):
		yield "%s: names a path of one machine: %s" % (path, PLACES.search(text).group())
	if not is_source(path, text):
		return
	if not any("SPDX-License-Identifier: " in line for line in text.splitlines()[:3]):
		yield "%s: no SPDX-License-Identifier at the top" % path
	if len(text.splitlines()) > FILE_LINES_MAX:
		yield "%s: %d lines" % (path, len(text.splitlines()))
	yield from check_python_sizes(path, text) if path.endswith(".py") else check_c_sizes(path, text)


def check_database_door(sources):
	"""Everybody goes through one file, so that the rules for connections stand in one place."""
	doors = [path for path, text in sources.items() if re.search(r"\bsqlite3_open_v2\b", split(text)[0])]
	if len(doors) > 1 or (not doors and any(room_of(p) == "store" for p in sources if p.endswith(".c"))):
		yield "sqlite3_open_v2 must be called in exactly one file: %s" % (", ".join(doors) or "none does")


def check_tests_are_run(root):
	"""A test that no meson.build names is never run."""
	for pattern, meson in (("unit/test_*.c", "meson.build"), ("kernel/test_*.c", "meson.build"), ("test_*.py", "meson.build"),
			       ("e2e/test_*.py", "meson.build"), ("fuzz/fuzz_*.c", "fuzz/meson.build")):
		build = root / "test" / meson
		named = build.read_text(encoding="utf-8") if build.exists() else ""
		for path in sorted((root / "test").glob(pattern)):
			if "'%s'" % path.stem.removeprefix("fuzz_") not in named:
				yield "%s: not named in test/%s, so it never runs" % (path.relative_to(root), meson)


def load(root):
	"""Path → text for all files that people wrote."""
	files = {}
	for path in sorted(root.rglob("*")):
		name = path.relative_to(root).as_posix()
		skip = name.startswith(("build", ".git/")) or name == ".git" or "/corpus/" in name or "/fixtures/" in name or "__pycache__" in name
		if not skip and path.is_file() and path.suffix in TEXT:
			files[name] = path.read_text(encoding="utf-8", errors="replace")
	return files


def problems(root):
	root = Path(root)
	files = load(root)
	sources = {p: t for p, t in files.items() if re.match(r"src/.+/.+\.[ch]$", p)}
	found = []
	for path, text in files.items():
		found += check_file(path, text)
	for path, text in sources.items():
		found += check_includes(path, text)
		found += check_contents(path, text)
	found += check_database_door(sources)
	found += check_tests_are_run(root)
	return found


if __name__ == "__main__":
	wrong = problems(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
	print("\n".join(wrong), end="\n" if wrong else "")
	sys.exit(bool(wrong))
