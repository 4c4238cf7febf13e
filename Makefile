# Two commands: `make demo` shows what seqray does, `make test` runs every check and test.
# Each makes its own virtual environment in .venv on the first run and reuses it afterwards.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint clean

demo: $(VENV)/installed
	$(BIN)/seqray demo -o demo

test: lint
	$(BIN)/python -m pytest -n 2 -q --cov --cov-report=term

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
