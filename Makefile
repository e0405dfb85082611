# `make demo` and `make test` need Python 3.11+ and make, nothing else: each builds .venv from constraints.txt first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
NOTEBOOKS_READY := $(VENV)/.notebooks-ready
# The benchmarks that need no argument; the others train models and take a data set or a folder.
SPEED := canonical certified_search edit_distance_peers embedding exact_search heads large_pairs loading metric_repair
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test test-fast test-random test-browser lint coverage wheel docs notebooks bench drills fuzz clean
.DEFAULT_GOAL := help

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

# The stamp is written last, so an install that was cut off is done again.
$(READY): pyproject.toml research/pyproject.toml constraints.txt
	@echo "==> setting up $(VENV) (once; a few minutes)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "graphmetric needs Python 3.11 or newer; try: make PYTHON=python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "==> installing pinned packages"
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test]' --editable research
	@touch $@
	@echo "==> ready"

demo: $(READY)  ## the main job on the embedded graphs
	@$(BIN)/graphmetric demo

# The same in every run and on every machine: random examples are drawn from a fixed seed (tests/conftest.py), and sets of
# texts have one order. test-random and fuzz draw anew.
test: $(READY) lint  ## every check: style, types, layers, tests
	@echo "==> tests"
	@PYTHONHASHSEED=0 $(BIN)/python -m pytest -n auto --dist worksteal

test-fast: $(READY)  ## the tests that are not marked slow, with few random examples: less than two minutes on two cores
	@PYTHONHASHSEED=0 HYPOTHESIS_PROFILE=fast $(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

test-random: $(READY)  ## every test with random examples that no run had before; prints how to repeat what fails
	@HYPOTHESIS_PROFILE=random $(BIN)/python -m pytest -n auto --dist worksteal

test-browser: $(READY)  ## the page in chromium, with a picture of each screen in build/pictures
	@test -n "$$GRAPHMETRIC_CHROMIUM" || command -v chromium chromium-browser google-chrome >/dev/null || { echo "no chromium is found: apt-get install chromium, or set GRAPHMETRIC_CHROMIUM to its path"; exit 1; }
	@GRAPHMETRIC_PICTURES=build/pictures $(BIN)/python -m pytest tests/serve/test_page.py
	@echo "==> pictures are in build/pictures"

lint: $(READY)  ## style, types and layers
	@echo "==> ruff, mypy, import-linter"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

coverage: $(READY)  ## the whole suite, and which lines it does not reach (also in coverage.xml)
	@PYTHONHASHSEED=0 $(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term-missing --cov-report=xml

wheel: $(READY)  ## both wheels in dist/, tested in a new environment outside of the checkout, without extras and with learn
	@rm -rf build research/build dist
	@$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist . ./research
	@$(BIN)/python tools/try_wheel.py dist/graphmetric-*.whl dist/graphmetric_research-*.whl

$(DOCS_READY): $(READY)
	@echo "==> installing what builds the documentation"
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@

docs: $(DOCS_READY)  ## the documentation site, in docs/_build/html
	@$(BIN)/python tools/collect_departures.py
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "==> open docs/_build/html/index.html"

$(NOTEBOOKS_READY): $(READY)
	@echo "==> installing what runs notebooks"
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[notebooks]'
	@touch $@

notebooks: $(NOTEBOOKS_READY)  ## run the notebooks of examples/notebooks and keep their outputs
	@$(BIN)/python tools/run_notebooks.py

bench: $(READY)  ## side-by-side measurements (research/results says what they mean)
	@for name in $(SPEED); do echo "==> $$name"; $(BIN)/python benchmarks/$$name.py || exit 1; done

drills: $(READY)  ## kills, damaged files, two writers, little memory, hostile clients: minutes; LONG=1 for hours
	@$(BIN)/python tests/drills/run_drills.py $(if $(LONG),--long)

fuzz: $(READY)  ## 100,000 broken files through every reader; SEED=1 for others
	@$(BIN)/python tests/fuzz/fuzz_readers.py --inputs 100000 --seed $(or $(SEED),0)

clean:  ## remove what make made
	rm -rf $(VENV) build research/build dist demo-output docs/_build docs/_generated .coverage coverage.xml
