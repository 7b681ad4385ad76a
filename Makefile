# Two commands are enough: `make demo` and `make test`. Each sets up what it needs in .venv. `make published` holds the
# papers' printed figures and needs their data (docs/results.md); `make lint` checks style, types and imports.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
KERNEL_TESTS := tests/kernels tests/grouping/test_partition.py

.PHONY: demo app test published lint bench reproduce screenshots clean

demo: $(VENV)/.core
	$(BIN)/shoal demo --folder demo

app: $(VENV)/.app
	$(BIN)/shoal app

test: $(VENV)/.dev
	sh tests/system_packages.sh
	$(PYTEST) --ignore tests/published --cov --cov-report=
	$(BIN)/python -m tests.coverage_floor
	NUMBA_DISABLE_JIT=1 $(PYTEST) $(KERNEL_TESTS)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/boundscheck $(PYTEST) $(KERNEL_TESTS)

published: $(VENV)/.dev
	$(PYTEST) tests/published

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: $(VENV)/.dev
	$(PIP) microagg1d
	$(BIN)/python -m benchmarks.univariate
	$(BIN)/python -m benchmarks.methods
	$(BIN)/python -m benchmarks.trees
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.speed --blocks

reproduce: $(VENV)/.dev
	$(BIN)/python -m benchmarks.reproduce

screenshots: $(VENV)/.dev
	sh tests/system_packages.sh
	$(BIN)/python -m docs.make_screenshots

clean:
	rm -rf $(VENV) demo benchmarks/out .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || { apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv --clear $(VENV); }

$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e .
	touch $@

$(VENV)/.app: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[app,stats]'
	touch $@ $(VENV)/.core

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[dev,all]'
	touch $@ $(VENV)/.core $(VENV)/.app
