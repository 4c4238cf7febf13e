# Two commands: `make demo` shows what seqray does, `make test` runs every check and test.
# Each makes its own virtual environment in .venv on the first run and reuses it afterwards.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint browser clean

demo: $(VENV)/installed
	$(BIN)/seqray demo -o demo

test: browser lint
	$(BIN)/python -m pytest -n 2 -q --cov --cov-report=term

# Pages are tested in a real browser: Debian's Chromium, never one that playwright downloads.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium; \
	  else false; fi; } || \
	  echo "No Chromium here, and it cannot be installed (that takes root on Debian): browser tests will be skipped."

lint: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"seqray needs Python 3.11 or later, found {v[0]}.{v[1]}: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/tested: $(VENV)/installed dev-requirements.txt constraints.txt
	$(BIN)/python -m pip install --quiet --requirement dev-requirements.txt
	@touch $@

clean:
	rm -rf $(VENV) demo
