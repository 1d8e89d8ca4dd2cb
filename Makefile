# Start with `make demo` and `make test`. Each creates the environment that it needs.
PYTHON ?= python3
VENV   := .venv
OLDEST := .venv-oldest
RUN    := $(VENV)/bin
# These tests need optional parts and run with the newest versions only.
NEWEST_ONLY := benchmarks cli golden report reproduction site test_examples.py test_frames.py test_names.py test_numbers.py test_pages.py test_prose.py

.DEFAULT_GOAL := help
.PHONY: help demo test quick lint lint-report types check coverage test-oldest bench study maps certificates reproduce docs dist check-dist clean

help: ## Show these commands.
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

# UMAP compiles its code at its first use, so it is used once as a part of the installation.
$(VENV)/.docs: pyproject.toml constraints/newest.txt $(VENV)/.test
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints/newest.txt -e '.[docs]'
	$(RUN)/python -W ignore -c 'import umap'
	@touch $@

$(OLDEST)/.test: pyproject.toml constraints/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints/oldest.txt -e '.[images]' pytest pytest-xdist pandas polars
	@touch $@

demo: $(VENV)/.demo ## Write a class map of the digits, a table of errors and coordinates to demo/.
	$(RUN)/nsse demo --out demo

test: lint types check ## Check style and types, and run all tests.

quick: $(VENV)/.test ## Run the quick tests in less than a minute on two cores.
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(RUN)/python -m pytest -n 2 --dist worksteal -m 'not slow'

lint: $(VENV)/.test lint-report
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/python release/prose.py README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md docs src

# ESLint and TypeScript check the report's scripts, with types in comments. CI has Node, and others may not.
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

# Two test processes with one BLAS thread each are faster than one process with two threads.
check: $(VENV)/.test
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(RUN)/python -m pytest -n 2 --dist worksteal

coverage: $(VENV)/.test ## Print the lines of src that no test runs, and fail below 95 % (10 minutes).
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(RUN)/coverage run -m pytest -n 2 --dist worksteal
	$(RUN)/coverage combine --quiet
	$(RUN)/coverage report

test-oldest: $(OLDEST)/.test ## Run the tests without optional parts on the oldest supported versions.
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n 2 --dist worksteal $(addprefix --ignore=tests/,$(NEWEST_ONLY))

bench: $(VENV)/.test ## Measure speed, compared with SVMs, and fit a million rows (needs NSSE_DATA).
	$(RUN)/python benchmarks/fits.py
	$(RUN)/python benchmarks/tuning_time.py
	$(RUN)/python benchmarks/centers.py
	$(RUN)/python benchmarks/million.py

# This takes hours on one core and continues where it was stopped.
study: $(VENV)/.test ## Compare methods on many data sets for docs/research/study.md (needs NSSE_DATA).
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints/newest.txt -e '.[test,umap]'
	$(RUN)/python -m reproduction study
	$(RUN)/python -m reproduction imbalanced

# PCovC is in skmatter, which requires an older scikit-learn but runs with the newest. RF-PHATE needs phate.
maps: $(VENV)/.test ## Compare supervised maps of new samples, and certified accuracy (needs NSSE_DATA).
	$(RUN)/python -m pip install --quiet --disable-pip-version-check -c constraints/newest.txt -e '.[test,evidence]'
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --no-deps skmatter==0.4.1
	$(RUN)/python -m pip install --quiet --disable-pip-version-check phate==2.0.0
	$(RUN)/python -m reproduction maps
	$(RUN)/python -m reproduction maps --page
	$(RUN)/python -m reproduction certified
	$(RUN)/python -m reproduction certified --page

reproduce: $(VENV)/.test ## Compute the paper's tables, run times and figures again (needs NSSE_DATA).
	$(RUN)/python -m reproduction all

certificates: $(VENV)/.test ## Attack certified radii, within which no label may change.
	$(RUN)/python benchmarks/radii.py --out radii.jsonl

# Tests check the built site: a page for every name and command, links, and the report in a browser.
docs: $(VENV)/.docs ## Build the site in docs/_build/html and run its examples.
	rm -rf docs/api  # pages of removed names would stop the build
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(RUN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 NSSE_SITE=docs/_build/html $(RUN)/python -m pytest -q tests/site

dist: $(VENV)/.release ## Build wheel and sdist in dist/, and check their metadata.
	rm -rf dist
	$(RUN)/python -m build --no-isolation --outdir dist .
	$(RUN)/python -m twine check --strict dist/*

check-dist: $(VENV)/.release ## Install dist/ in empty environments and try it.
	$(RUN)/python release/check.py dist

clean: ## Remove the environments and the files that the commands wrote.
	rm -rf $(VENV) $(OLDEST) demo dist radii.jsonl reproduction-quick study-quick docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .coverage* node_modules
