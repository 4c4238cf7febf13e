# `make demo` shows what seqray does, `make test` runs every check and test, `make help` lists the rest.
# Each target makes a virtual environment in .venv on the first run and reuses it afterwards.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Compiled files are kept: tests start Python hundreds of times.
export PYTHONDONTWRITEBYTECODE :=

# pip leaves most files of packages uncompiled: Python compiles those that it imports.
PIP := $(BIN)/python -m pip install --quiet --no-compile

.PHONY: demo fast test docs dist soak lint browser packages collected clean help

demo: $(VENV)/installed  ## extract an automaton from a trained network, and make its page
	$(BIN)/seqray demo -o demo

# On every save: no browser, no frameworks, nothing marked as slow (tests/kinds.py).
fast: $(VENV)/tested  ## the fast tests, in under a minute
	$(BIN)/python -m pytest -n 2 --dist worksteal -q --fast

# On two cores: what needs one core for long is done beside something else.
test:  ## every check and test, with coverage
	$(MAKE) --jobs=2 browser packages
	$(MAKE) --jobs=2 collected lint docs
	$(BIN)/python -m pytest -n 2 --dist worksteal -q --cov --cov-report=term

# One after the other: they share a folder.
packages: $(VENV)/tested
	$(MAKE) $(VENV)/documented

# Compiles all tests and what they import: else each worker does all of it. The workers show errors.
collected: $(VENV)/tested
	-@$(BIN)/python -m pytest --collect-only -q >/dev/null 2>&1

# A broken link, a missing anchor or any other warning is an error.
docs: $(VENV)/documented  ## the documentation as a site that needs no network: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Every Python from 3.11 to 3.13 that is on the path; others are named as not tried.
dist: $(VENV)/tested  ## wheel and sdist in dist/, each tried in empty environments without extras
	$(BIN)/python benchmarks/distribution.py

# The long forms of all campaigns: faults, hostile input, load (docs/reliability.md). Hours.
soak: $(VENV)/tested  ## all reliability campaigns in their long form; writes docs/reliability.md
	$(BIN)/python -m reliability; status=$$?; $(BIN)/python -m reliability --page; exit $$status

# Pages are tested in a real browser: Debian's Chromium, never one that playwright downloads.
browser:  ## install Chromium, if this is Debian and you are root
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; \
	  else false; fi; } || \
	  echo "No Chromium here, and it cannot be installed (that takes root on Debian): browser tests will be skipped."

lint: $(VENV)/tested  ## ruff, mypy and the import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"seqray needs Python 3.11 or later, found {v[0]}.{v[1]}: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	@touch $@

$(VENV)/tested: $(VENV)/installed dev-requirements.txt constraints.txt
	$(PIP) --requirement dev-requirements.txt
	# The model of an example; without what it wants beside it, TensorFlow.
	$(PIP) --no-deps dgaintel==2.3 || echo "No dgaintel: its notebook is not tested."
	@touch $@

$(VENV)/documented: $(VENV)/installed docs-requirements.txt
	$(PIP) --requirement docs-requirements.txt
	@touch $@

clean:  ## remove the virtual environment, the demo, the packages and the site
	rm -rf $(VENV) demo dist site

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
