# SPDX-License-Identifier: MIT
# The few commands that are typed by hand; Meson does the work. `make help` lists them.
PREFIX       ?= /usr/local
FUZZ_SECONDS ?= 10
BUILDTYPE    ?= release
PYTHON       ?= /usr/bin/python3
# The job that `make run` records; default: a small sample workload.
CMD          ?=

# JOBS=2 builds with two jobs at a time.
export JOBS
NINJA  = scripts/ninja-quiet
SETUP  = scripts/meson-setup
SANE   = -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false -Dwerror=true

.PHONY: all help run test test-previous install bench fuzz format lint clean

all: build/build.ninja ## build into build/ (release)
	@$(NINJA) build

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

run: all ## install missing packages, build, record a sample workload and show the recording
	@CMD='$(subst ','\'',$(CMD))' scripts/demo build/proctor

test: build-test/build.ninja ## build with sanitizers and run every test
	@$(NINJA) build-test
	@$(PYTHON) scripts/run-tests build-test

test-previous: build-test/build.ninja ## test with older versions at the same store, built from the history
	@$(NINJA) build-test
	@scripts/build-previous build-test/previous
	@$(PYTHON) scripts/run-tests build-test --suite previous

install: all ## install below $(DESTDIR)$(PREFIX)
	@meson configure build -Dprefix='$(PREFIX)'
	@$(NINJA) build
	@meson install -C build --quiet --no-rebuild

bench: all ## measure against other tools, as a table
	@scripts/install-deps bench
	@$(NINJA) build bench-programs
	@$(PYTHON) bench/run.py build

fuzz: build-fuzz/build.ninja ## run each fuzz target for FUZZ_SECONDS
	@$(NINJA) build-fuzz
	@FUZZ_SECONDS='$(FUZZ_SECONDS)' scripts/run-fuzzers build-fuzz

format: ## format the C files with .clang-format
	@scripts/install-deps lint
	@find src test bench -name '*.[ch]' -print0 | xargs -0 clang-format -i

lint: all ## clang-tidy and cppcheck, as advice
	@scripts/install-deps lint
	-@scripts/lint build

clean: ## remove all build trees
	@rm -rf build build-test build-fuzz build-ci-*

# Each tree is configured once; ninja reconfigures it when a meson file changes.
build/build.ninja: | deps-build
	@$(SETUP) build -Dbuildtype=$(BUILDTYPE) -Dprefix='$(PREFIX)' -Dtests=false

build-test/build.ninja: | deps-test
	@$(SETUP) build-test $(SANE)

build-fuzz/build.ninja: | deps-fuzz
	@CC=clang $(SETUP) build-fuzz $(SANE) -Dfuzz=true

.PHONY: deps-build deps-test deps-fuzz
deps-build:
	@scripts/install-deps build
deps-test:
	@scripts/install-deps build test
deps-fuzz:
	@scripts/install-deps build test fuzz
