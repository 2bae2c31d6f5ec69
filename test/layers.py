# SPDX-License-Identifier: MIT
"""Rules of the whole tree: which room may include which, where SQL and kernel paths may stand, unique file names.

The table of rooms is the one in ARCHITECTURE.md, read from there. `problems(root)` returns one line per violation;
run as a program it prints them.
"""
import re
import sys
from pathlib import Path

# | `store/` | the write side of SQLite … | base model sqlite sqlite3 |
ROW = re.compile(r"^\| `(\w+)/` \|[^|]*\|([^|]*)\|", re.M)
# The only file that may include a room that is closed to all others.
EXCEPTIONS = {"cli/verb_daemon.c": "daemon"}

# Libraries a room names in the table beside other rooms, by the headers they bring.
LIBRARIES = {
	"sqlite3.h": "sqlite3",
	"jansson.h": "jansson",
	"bpf/": "libbpf",
	"linux/bpf": "libbpf",
	"curses.h": "ncurses",
	"ncurses": "ncurses",
	"microhttpd.h": "microhttpd",
}
SQL_ROOMS = ("sqlite", "schema", "store", "history")
# Files that may build paths below /proc and /sys. A message that names one has words around it.
KERNEL_ROOMS = ("kernel", "probe")
KERNEL_PATH = re.compile(r"/?(proc|sys)/\S*$")
KERNEL_PATH_EXCEPTIONS = {
	"src/rpc/socket_address.c": "part of libproctor, which has no kernel/; reaches a socket with a long path by /proc/self/fd",
	"src/cli/cli.c": "/proc/self/exe is this program, not a file that is read",
}

# A function that a header declares.
DECLARED = re.compile(r"^(?!static\b|#|typedef\b|extern\b)[a-z][\w *]*?\b(\w+)\((?!\*)[^;{]*\)[^;{]*;", re.M)
# … and one that it defines.
INLINE = re.compile(r"^static\s(?:inline|__always_inline|__noinline)\b[^;{(]*?\b(\w+)\([^;{]*\)\s*\{", re.M)
DEFINED = re.compile(r"^(?!static\b)[a-z][\w *]*?\b(\w+)\([^;{]*\)\s*\{", re.M)
NAME_EXCEPTIONS = {
	"src/base/mem.h": "malloc() and its kin, with an x",
	"src/base/defs.h": "cleanup functions are named after what they release",
	"src/model/process.h": "proc is short for process, as in struct proc_id",
	"src/probe/bpf/distrust.bpf.h": "the kernel's name",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)
COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
SQL = re.compile(r"\b(SELECT\s.+\sFROM|INSERT\s+INTO|CREATE\s+(TABLE|VIEW|INDEX)|DELETE\s+FROM|UPDATE\s+\w+\s+SET|"
		 r"PRAGMA\s+\w+|BEGIN\s+IMMEDIATE)\b", re.I | re.S)
# Made at build time: they lie in no room.
GENERATED = re.compile(r"^\w+\.l?skel\.h$")
# Paths of one developer's machine (put together here, so that this line is not one).
PLACES = re.compile("/tmp/" + r"wt\b|(?<![\w.}])/" + r"work/")
TEXT = {".c", ".h", ".py", ".md", ".build", ".txt", ".sh", ".sql", ".yml", ".scd", ".conf", ".service", ""}


def read_table(text):
	"""Room → the words of its "may include" column; "any room" stands for all that are not closed."""
	rooms = {room: set(words.split()) for room, words in ROW.findall(text)}
	closed = set(EXCEPTIONS.values())
	for room, words in rooms.items():
		if {"any", "room"} <= words:
			rooms[room] = words - {"any", "room"} | (set(rooms) - closed)
	return rooms


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


def check_includes(path, text, rooms):
	room = room_of(path)
	if room not in rooms:
		yield "%s: room '%s' is not in the table of ARCHITECTURE.md" % (path, room)
		return
	allowed = rooms[room] | {room, EXCEPTIONS.get(path.removeprefix("src/"))}
	for kind, name in INCLUDE.findall(text):
		if kind == "<":
			for header, library in LIBRARIES.items():
				if name.startswith(header) and library not in allowed:
					yield "%s: %s/ may not include <%s>" % (path, room, name)
		elif GENERATED.match(name.split("/")[-1]):
			if "libbpf" not in allowed:
				yield "%s: %s/ may not include \"%s\"" % (path, room, name)
		elif "/" not in name:
			if not path.endswith(".bpf.c"):
				yield "%s: include \"%s\" as \"room/file.h\"" % (path, name)
		elif name.split("/")[0] not in allowed:
			yield "%s: %s/ may not include \"%s\"" % (path, room, name)


def check_contents(path, text):
	room, (code, strings) = room_of(path), split(text)
	if room not in SQL_ROOMS:
		if re.search(r"\bsqlite3(_\w+)?\b", code):
			yield "%s: sqlite3 is used outside %s/" % (path, "/, ".join(SQL_ROOMS))
		for literal in strings:
			if SQL.search(literal):
				yield "%s: SQL outside %s/: \"%s\"" % (path, "/, ".join(SQL_ROOMS), literal[:60])
	if re.search(r"\bsqlite3_open(16)?\b", code):
		yield "%s: databases are opened by sqlite3_open_v2" % path
	for literal in strings:
		if re.match(r"/(proc|sys)\b", literal) and room in ("kernel", "probe", "model"):
			yield "%s: absolute path \"%s\": the root is an argument" % (path, literal[:60])
		elif KERNEL_PATH.match(literal) and room not in KERNEL_ROOMS and path not in KERNEL_PATH_EXCEPTIONS:
			yield "%s: path of the kernel outside %s/: \"%s\"" % (path, "/ and ".join(KERNEL_ROOMS), literal[:60])


def is_source(path, text):
	return path.endswith((".c", ".h", ".py")) or text.startswith("#!")


def check_file(path, text):
	"""Rules for every file of the project."""
	if PLACES.search(text):
		yield "%s: names a path of one machine: %s" % (path, PLACES.search(text).group())
	if is_source(path, text) and not any("SPDX-License-Identifier: " in line for line in text.splitlines()[:3]):
		yield "%s: no SPDX-License-Identifier at the top" % path


def check_unique_names(sources):
	"""A stack trace or a grep hit names its place."""
	places = {}
	for path in sources:
		places.setdefault(path.split("/")[-1], []).append(path)
	for name, paths in places.items():
		if len(paths) > 1:
			yield "%s: the name is taken in two places: %s" % (name, ", ".join(paths))


def noun_of(path):
	"""verdict for src/analyze/verdict_rules.h, model for src/model/."""
	return path.split("/")[-1].split(".")[0].split("_")[0].removesuffix("s")


def check_function_names(sources):
	"""A function begins with the noun of its file, or, where one header is for a family of files, of one of them or of
	their room: it can be guessed where it is."""
	nouns = {}
	for path in sources:
		nouns.setdefault(room_of(path), {noun_of("/" + room_of(path))}).add(noun_of(path))
	for path, name in header_functions(sources):
		if not path.endswith(".bpf.h") and name.split("_")[0].removesuffix("s") not in nouns[room_of(path)]:
			yield "%s: %s() does not begin with the noun of a file of %s/" % (path, name, room_of(path))


def header_functions(sources):
	"""(header, name) of all functions that headers declare or define."""
	for path, text in sources.items():
		if path.endswith(".h") and path not in NAME_EXCEPTIONS:
			code = split(text)[0]
			yield from ((path, name) for name in DECLARED.findall(code) + INLINE.findall(code))


def stem_of(path):
	return path.split("/")[-1].split(".")[0]


def words_in_common(a, b):
	pairs = list(zip(a.split("_"), b.split("_")))
	return next((i for i, (x, y) in enumerate(pairs) if x != y), len(pairs))


def check_misleading_names(sources):
	"""A function that begins with the whole name of a file is there, or in a file that has more words in common with it.
	One word may stand for a family of files in one room: history_job_gpus() is not in history/history.c."""
	places, homes = {}, {}
	for path, text in sources.items():
		places.setdefault(stem_of(path), set()).add(room_of(path))
		if path.endswith(".c"):
			for name in DEFINED.findall(split(text)[0]):
				homes.setdefault(name, set()).add(stem_of(path))
	for path, name in header_functions(sources):
		own = {stem_of(path)} | homes.get(name, set())
		words = name.split("_")
		begins = ["_".join(words[:n]) for n in range(len(words), 0, -1)]
		named = next((stem for stem in begins if stem in places), None)
		if not named or named in own:
			continue
		count, ours = len(named.split("_")), max(words_in_common(name, stem) for stem in own)
		if count > max(ours, 1) or (count >= ours and room_of(path) not in places[named]):
			yield "%s: %s() is not in %s, as its name has it" % (path, name, named)


def check_database_door(sources):
	"""All connections are opened in one file, so that their rules stand in one place."""
	doors = [path for path, text in sources.items() if re.search(r"\bsqlite3_open_v2\b", split(text)[0])]
	if len(doors) > 1 or (not doors and any(room_of(p) == "sqlite" for p in sources if p.endswith(".c"))):
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


# `members_learn` in `job/members.c`; `job/members.c` alone; not `test/unit/test_NAME.c` or `serve/method_*.c`
REFERENCE = re.compile(r"(?:`(\w+)(?:\(\))?` in )?`([a-z0-9_./-]+\.[ch])`")


def check_references(files):
	"""What the documentation says of the code is there."""
	code = {path: text for path, text in files.items() if path.endswith((".c", ".h"))}
	for path, text in files.items():
		for name, place in REFERENCE.findall(text) if path.endswith(".md") and path != "CHANGELOG.md" else []:
			there = [t for p, t in code.items() if ("/" + p).endswith("/" + place)]
			if not there:
				yield "%s: there is no %s" % (path, place)
			elif name and not any(re.search(r"\b%s\b" % name, t) for t in there):
				yield "%s: there is no %s in %s" % (path, name, place)


def load(root):
	"""Path → text of all files written by hand."""
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
	rooms = read_table(files.get("ARCHITECTURE.md", ""))
	sources = {p: t for p, t in files.items() if re.match(r"src/.+/.+\.[ch]$", p)}
	found = []
	for path, text in files.items():
		found += check_file(path, text)
	for path, text in sources.items():
		found += check_includes(path, text, rooms)
		found += check_contents(path, text)
	found += check_unique_names(sources)
	found += check_function_names(sources)
	found += check_misleading_names(sources)
	found += check_database_door(sources)
	found += check_tests_are_run(root)
	found += check_references(files)
	return found


if __name__ == "__main__":
	wrong = problems(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
	print("\n".join(wrong), end="\n" if wrong else "")
	sys.exit(bool(wrong))
