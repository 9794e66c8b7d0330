# make demo   learn and solve the Screws domain, and say where to look
# make test   everything that must hold: lint, format, types, layers, tests with coverage
# make bench  measure speed: make bench ARGS=--quick for a short run; see docs/benchmarks.md
# make setup  the virtual environment alone; .venv/bin/needful is the command

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: setup demo test bench clean

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt setup.py $(wildcard native/*)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: setup
	$(BIN)/needful run screws --out runs/demo --force

test: setup
	$(BIN)/ruff check src tests benchmarks docs examples
	$(BIN)/ruff format --check src tests benchmarks docs examples
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest --numprocesses 2 --cov --cov-report term

bench: setup
	$(BIN)/python benchmarks/bench.py $(ARGS)

clean:
	rm -rf $(VENV) .bench-venv benchmarks/out runs build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
