# make demo   learn and solve the Screws domain, and say where to look
# make test   everything that must hold: lint, format, types, layers, tests with coverage
# make docs   the documentation site, in build/site; needs no network
# make bench  measure speed: make bench ARGS=--quick for a short run; see docs/benchmarks.md
# make dist   the wheel and the source distribution, in dist/
# make dist-check  install both of them into empty environments and use them there
# make setup  the virtual environment alone; .venv/bin/needful is the command

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: setup demo test docs bench dist dist-check clean

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
	$(BIN)/mypy benchmarks docs examples
	$(BIN)/lint-imports
	$(BIN)/pytest --numprocesses 2 --cov --cov-report term

docs: setup
	$(BIN)/python docs/build_site.py build/site

bench: setup
	$(BIN)/python benchmarks/bench.py $(ARGS)

dist: setup
	rm -rf dist
	$(BIN)/python -m build --no-isolation

# Each in an environment of its own, in which there is nothing else, and away from the sources.
dist-check: dist
	for file in dist/*.whl dist/*.tar.gz; do \
		rm -rf build/empty && $(PYTHON) -m venv build/empty && \
		build/empty/bin/python -m pip install --quiet -c constraints.txt $$file && \
		(cd build/empty && bin/python -P -c "from needful.planning.native_planner import BUILT; assert BUILT" && \
		bin/needful --version && bin/needful run screws --demos 10 --tasks 5 --out run) || exit 1; \
	done
	rm -rf build/empty

clean:
	rm -rf $(VENV) .bench-venv benchmarks/out runs build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
