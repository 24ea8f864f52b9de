# What can be done here. Needs GNU make and Python 3.11 or newer with venv; everything else comes from the lock files.
# `make lock` renews those: they are never edited by hand.

PYTHON ?= python3
UV ?= uv
ARGS ?=

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input --quiet
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --group build \
	--custom-compile-command 'make lock'

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint bench lock image clean

help: ## list what can be done
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s  %s\n", $$1, $$2 }' Makefile

demo: .venv/runtime ## show a simulated fleet, its faults and what is answered (ARGS=--once: check it and end)
	$(BIN)/fresh-metrics-adapter demo $(ARGS)

test: .venv/dev ## run the tests (ARGS='tests/core -x'); with CI=true a missing piece is a failure, not a skip
	@hack/need.sh prometheus || [ "$$CI" != true ]
	$(BIN)/pytest -rs $(ARGS)

lint: .venv/dev ## check format, rules, types and who imports whom
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/dev ## measure what the hot paths cost
	@set -e; for file in bench/bench_*.py; do echo "== $$file"; $(BIN)/python "$$file"; done

lock: ## renew the lock files from pyproject.toml (needs uv; ARGS=--upgrade takes the newest of everything)
	$(COMPILE) $(ARGS) --output-file requirements.lock pyproject.toml
	$(COMPILE) $(ARGS) --output-file requirements-dev.lock --extra dev --extra bench --constraint requirements.lock pyproject.toml

image: ## build the image into build/image.tar and prove that it runs (needs Debian and root)
	hack/image.sh

clean: ## remove everything that was made here
	rm -rf .venv build dist *.egg-info .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Two stamps in one environment: remade when what runs has changed, added to when only the tools have.
.venv/runtime: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed and \`$(PYTHON)\` is not: name one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { \
	  echo "\`$(PYTHON)\` cannot make virtual environments; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@echo "installing requirements.lock into .venv"
	@rm -rf .venv
	@$(PYTHON) -m venv .venv
	@$(PIP) install --require-hashes --requirement requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@$(PIP) check || { echo "requirements.lock does not fit pyproject.toml: make lock" >&2; exit 1; }
	@touch $@

.venv/dev: requirements-dev.lock .venv/runtime
	@echo "installing requirements-dev.lock into .venv"
	@$(PIP) install --require-hashes --requirement requirements-dev.lock
	@$(PIP) check || { echo "requirements-dev.lock does not fit requirements.lock: make lock" >&2; exit 1; }
	@touch $@
