# make demo        learn Cluttered Painting, solve unseen tasks, and film one of them
# make demo-house  the same in a house with 3D physics
# make kinder      install the KinDER benchmark; see docs/kinder.md
# make check       lint, types, layers and the fast tests
# make test        lint, types, layers and all tests; COVERAGE=1 also measures coverage
# make docs        build the documentation site in build/site, offline
# make bench       measure speed; ARGS=--quick for a short run, see docs/benchmarks.md
# make dist        build the wheel and the source distribution in dist/
# make dist-check  install both into empty environments and run them there
# make setup       create the virtual environment; .venv/bin/needful is the command

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
INSTALLED := $(VENV)/.installed
SOURCES := pyproject.toml constraints.txt setup.py $(wildcard native/*)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Each process gets consecutive tests, so that fixtures of a module are usually made once. With more threads
# than one per process, torch would wait for the cores that the other process uses.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist worksteal

# The dependencies of these packages contradict ours. They are not needed for the 2D environments.
KINDER := $(INSTALL) --no-deps kindergarden relational-structs prpl-utils tomsgeoms2d

# Tests and sweeps start many processes: without stored bytecode, each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo demo-house kinder lint check test docs bench dist dist-check clean

setup: $(INSTALLED)

# The package without extras: enough for `make demo`. Python compiles modules when they are first imported, which
# is faster than compiling all of them here.
$(CORE): $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --no-compile -e .
	touch $@

# All extras and the development tools.
$(INSTALLED): $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[dev]'
	$(KINDER) || echo "Tests of KinDER are skipped: it needs Python 3.10 to 3.12."
	touch $(CORE) $@

demo: $(CORE)
	$(BIN)/needful run cluttered-painting --tasks 20 --out runs/demo --force
	$(BIN)/needful plan runs/demo cluttered-painting --task 0 --gif runs/demo.gif --force
	@echo "Open runs/demo/report.html (operators, and films of tasks) and runs/demo.gif (task 0) in a browser."

# The page needs no OpenGL, so it is made in place of a film.
demo-house: $(CORE)
	$(INSTALL) -e '.[household]'
	$(BIN)/needful run opening-presents --demos 10 --tasks 10 --timeout 60 --out runs/house --force
	$(BIN)/needful plan runs/house opening-presents --task 0 --timeout 60 --page runs/house.html --force
	@echo "Open runs/house/report.html and runs/house.html (the house in 3D) in a browser."

kinder: $(CORE)
	$(INSTALL) -e '.[kinder]'
	$(KINDER)
	@echo "Now try: $(BIN)/needful run kinder/StickButton2D-b5 --demos 20 --tasks 10 --seed 1000 --out runs/buttons"
	@echo "Then open runs/buttons/report.html (operators, and films of tasks) in a browser."

lint: setup
	$(BIN)/ruff check src tests benchmarks docs examples
	$(BIN)/ruff format --check src tests benchmarks docs examples
	$(BIN)/mypy
	$(BIN)/mypy benchmarks docs examples
	$(BIN)/lint-imports

check: lint
	$(PYTEST) -m "not slow and not integration"

test: lint
	$(PYTEST) $(if $(COVERAGE),--cov --cov-report term)

docs: setup
	$(BIN)/python docs/build_site.py build/site

bench: setup
	$(BIN)/python benchmarks/bench.py $(ARGS)

dist: setup
	rm -rf dist
	$(BIN)/python -m build --no-isolation

# Each distribution is installed into an empty environment and run outside the source folder.
dist-check: dist
	for file in dist/*.whl dist/*.tar.gz; do \
		rm -rf build/empty && $(PYTHON) -m venv build/empty && \
		build/empty/bin/python -m pip install --quiet -c constraints.txt $$file && \
		(cd build/empty && bin/python -P -c "from needful.planning.engines.native_planner import ENGINE_BUILT; assert ENGINE_BUILT" && \
		bin/needful --version && bin/needful run screws --demos 10 --tasks 5 --out run) || exit 1; \
	done
	rm -rf build/empty

clean:
	rm -rf $(VENV) .bench-venv benchmarks/out runs build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
