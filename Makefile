# Two commands are enough: `make demo` and `make test`. Each sets up what it needs in .venv. `make published` holds the
# papers' printed figures and needs their data (docs/results.md); `make lint` checks style, types and imports.
# Every package is installed at the version and with a hash that constraints/ holds, and builds with tools that are
# installed so too; then comes shoal itself, which brings nothing along. The files are complete, so pip looks for no
# other package (--no-deps): a release made after the pins cannot get in the way; `pip check` asks whether all is there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One more than the cores of a small machine, for tests of the page and of Spark wait: it saved one minute of fifteen.
WORKERS ?= 3
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation
HASHED := $(PIP) --use-pep517 --no-deps --require-hashes -r
SHOAL := $(PIP) --no-deps -e .
KERNEL_TESTS := tests/kernels tests/grouping/test_partition.py --ignore tests/kernels/test_jit.py
# The tests start hundreds of processes: each would compile shoal's modules again where Python may not keep them.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo app test test-r test-py published lint bench reproduce figures docs man screenshots dist try-dist sbom clean

demo: $(VENV)/.core
	$(BIN)/shoal demo --folder demo

app: $(VENV)/.app
	$(BIN)/shoal app

test: $(VENV)/.dev
	sh tests/system_packages.sh
	$(PYTEST) --ignore tests/published --cov --cov-report=
	$(BIN)/python -m tests.coverage_floor
	NUMBA_DISABLE_JIT=1 $(PYTEST) $(KERNEL_TESTS)
	NUMBA_BOUNDSCHECK=1 NUMBA_OPT=0 NUMBA_CACHE_DIR=$(VENV)/boundscheck $(PYTEST) $(KERNEL_TESTS)

test-r: $(VENV)/.core
	sh r/test.sh $(BIN)/python

# The tests that need no browser, server or Java, with another Python: make test-py PY=python3.13 [TESTS=tests/io]
PY ?= python3
TESTS ?= tests --ignore tests/published --ignore tests/app --ignore tests/engines
test-py: OTHER = .venv-$(shell $(PY) -c 'import platform; print(platform.python_version())')
test-py:
	$(MAKE) VENV=$(OTHER) PYTHON=$(PY) $(OTHER)/.dev
	$(OTHER)/bin/python -m pytest -n $(WORKERS) --dist loadfile $(TESTS)

published: $(VENV)/.dev
	$(PYTEST) tests/published

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: $(VENV)/.dev
	$(HASHED) constraints/bench.txt
	$(BIN)/python -m benchmarks.univariate
	$(BIN)/python -m benchmarks.methods
	$(BIN)/python -m benchmarks.trees
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.speed --blocks

reproduce: $(VENV)/.dev
	$(BIN)/python -m benchmarks.reproduce

figures:
	$(PYTHON) -m tools.figures

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env -b html docs docs/_build/html

man: $(VENV)/.core
	$(BIN)/python -m docs.make_commands dist/shoal.1

screenshots: $(VENV)/.dev
	sh tests/system_packages.sh
	$(BIN)/python -m docs.make_screenshots

dist: $(VENV)/.build
	$(BIN)/python -m tools.dist

try-dist: dist
	$(BIN)/python -m tools.try_dist

sbom: $(VENV)/.dev
	$(BIN)/python -m tools.sbom
	$(BIN)/python -m docs.make_dependencies

clean:
	rm -rf $(VENV) .venv-* demo dist docs/_build docs/commands.md benchmarks/out .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || { apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv --clear $(VENV); }

$(VENV)/.build: $(VENV)/bin/python constraints/build.txt
	$(HASHED) constraints/build.txt
	touch $@

$(VENV)/.core: $(VENV)/.build pyproject.toml constraints/core.txt
	$(HASHED) constraints/core.txt
	$(SHOAL)
	touch $@

$(VENV)/.app: $(VENV)/.build pyproject.toml constraints/core.txt constraints/app.txt
	$(HASHED) constraints/app.txt
	$(SHOAL)
	touch $@ $(VENV)/.core

$(VENV)/.dev: $(VENV)/.build pyproject.toml constraints/core.txt constraints/app.txt constraints/dev.txt
	$(HASHED) constraints/dev.txt
	$(SHOAL)
	$(BIN)/python -m pip check --disable-pip-version-check
	touch $@ $(VENV)/.core $(VENV)/.app

$(VENV)/.docs: $(VENV)/.dev constraints/docs.txt
	$(HASHED) constraints/docs.txt
	touch $@
