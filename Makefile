# Two commands do everything: `make demo` and `make test`. Each builds its environment from nothing.
PYTHON ?= python3
VENV   := .venv
OLDEST := .venv-oldest
RUN    := $(VENV)/bin
# What needs the optional parts is tested with the newest versions of them only.
NEWEST_ONLY := benchmarks cli golden report reproduction site test_examples.py test_frames.py test_names.py test_numbers.py test_pages.py test_prose.py

.DEFAULT_GOAL := help
.PHONY: help demo test quick lint lint-report types check coverage test-oldest bench study maps certificates reproduce docs dist check-dist clean

help: ## Show what can be made.
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "nsse needs Python >= 3.11. Got %d.%d. Set PYTHON=python3.11 or newer." % v[:2])'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml constraints/newest.txt | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints/newest.txt -e '.[plot,cli]'
	@touch $@

$(VENV)/.test: pyproject.toml constraints/newest.txt | $(VENV)/bin/python
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints/newest.txt -e '.[test]'
	@touch $@ $(VENV)/.demo

$(VENV)/.release: $(VENV)/.test
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints/newest.txt -e '.[release]'
	@touch $@

# UMAP, in the gallery, compiles its code where it has not run before: that is part of installing it.
$(VENV)/.docs: pyproject.toml constraints/newest.txt $(VENV)/.test
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints/newest.txt -e '.[docs]'
	$(RUN)/python -W ignore -c 'import umap'
	@touch $@

$(OLDEST)/.test: pyproject.toml constraints/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints/oldest.txt -e '.[images]' pytest pytest-xdist pandas polars
	@touch $@

demo: $(VENV)/.demo ## Draw the digits: a class map, a table of errors and coordinates in demo/.
	$(RUN)/nsse demo --out demo

test: lint types check ## Lint, types and the whole test suite.

quick: $(VENV)/.test ## The tests that need little time: 45 seconds on two cores.
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(RUN)/python -m pytest -n 2 --dist worksteal -m 'not slow'

lint: $(VENV)/.test lint-report
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/python release/prose.py README.md docs

# The report's scripts: ESLint, and TypeScript on the types in their comments. CI has Node; others may not.
ifneq ($(shell command -v npm 2> /dev/null),)
lint-report: node_modules/.installed
	npm run --silent lint
else
lint-report:
	@echo "The report's scripts are not checked: npm is missing. Install Node.js 20.19 or newer."; $(if $(CI),exit 1)
endif

node_modules/.installed: package.json package-lock.json
	npm ci --silent --no-audit --no-fund
	@touch $@

types: $(VENV)/.test
	$(RUN)/mypy

# One BLAS thread per test process: two processes on two cores beat two threads fighting for them.
check: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(RUN)/python -m pytest -n 2 --dist worksteal

coverage: $(VENV)/.test ## Which lines of src no test runs; fails below 95 % (some 10 minutes).
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(RUN)/coverage run -m pytest -n 2 --dist worksteal
	$(RUN)/coverage combine --quiet
	$(RUN)/coverage report

test-oldest: $(OLDEST)/.test ## All but the optional parts, on the oldest supported scikit-learn.
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n 2 --dist worksteal $(addprefix --ignore=tests/,$(NEWEST_ONLY))

bench: $(VENV)/.test ## Speed beside SVMs and the literal method; a million rows (set NSSE_DATA).
	$(RUN)/python benchmarks/fits.py
	$(RUN)/python benchmarks/tuning_time.py
	$(RUN)/python benchmarks/centres.py
	$(RUN)/python benchmarks/million.py

# Hours on one core; it goes on where it was stopped. UMAP is in no other environment of ours.
study: $(VENV)/.test ## NSSE beside what people use on many sets: docs/when_to_use.md (needs NSSE_DATA).
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints/newest.txt -e '.[test,umap]'
	$(RUN)/python -m reproduction study
	$(RUN)/python -m reproduction imbalanced

# PCovC is in skmatter, which asks for an older scikit-learn but runs with the newest.
maps: $(VENV)/.test ## Supervised maps on new samples, and certified accuracy: docs/research (needs NSSE_DATA).
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints/newest.txt -e '.[test,evidence]'
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-deps skmatter==0.4.1
	$(RUN)/python -m reproduction maps
	$(RUN)/python -m reproduction maps --page
	$(RUN)/python -m reproduction certified
	$(RUN)/python -m reproduction certified --page

reproduce: $(VENV)/.test ## The paper's tables, run times and figures, ours beside the printed (needs NSSE_DATA).
	$(RUN)/python -m reproduction all

certificates: $(VENV)/.test ## Attacks inside the certified radii: no label may change.
	$(RUN)/python benchmarks/certificates.py

# The site is looked at when it is there: a page for every name and command, links, the report in a browser.
docs: $(VENV)/.docs ## The site in docs/_build/html: guide, gallery (its examples run), reference; no warnings.
	rm -rf docs/api  # pages of names that are gone would stop the build
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(RUN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NSSE_SITE=docs/_build/html $(RUN)/python -m pytest -q tests/site

dist: $(VENV)/.release ## Wheel and sdist in dist/, their metadata checked.
	rm -rf dist
	$(RUN)/python -m build --no-isolation --outdir dist .
	$(RUN)/python -m twine check --strict dist/*

check-dist: $(VENV)/.release ## What dist/ gives in empty environments: library, parts, commands, types, Pythons, sdist.
	$(RUN)/python release/check.py dist

clean: ## Remove the environments and what the commands left behind.
	rm -rf $(VENV) $(OLDEST) demo dist reproduction-quick study-quick docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .coverage* node_modules
