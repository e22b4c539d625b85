# Everything installs into .venv in this folder; nothing global is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url
# Hard-linked data files are refused by nltk, which LlamaIndex loads.
export UV_LINK_MODE := copy
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo serve test check bench peers pins clean system

help: ## show these targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

demo: $(VENV)/.base ## answer three spoken questions from a folder of documents, with citations
	@$(BIN)/earpiece demo

serve: $(VENV)/.base ## run the gateway and its web page on http://127.0.0.1:8787/
	@$(BIN)/earpiece serve --library examples/handbook

test: $(VENV)/.test ## run the tests
	@$(BIN)/pytest

check: $(VENV)/.test ## lint, types, import contracts, what the wheel holds
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q -m guard

bench: $(VENV)/.test ## run the benchmarks and print their tables
	$(BIN)/python benchmarks/all.py

peers: $(VENV)/.test ## install the foreign clients and servers that some tests talk to, each on its own
	@set -e; for script in tests/peers/install*.sh; do $$script; done

system: ## install the Debian packages that the full test run uses (needs root)
	./.ci/system-packages

pins: $(VENV)/.uv ## pin the dependencies of pyproject.toml again, with hashes
	echo uv | $(COMPILE) - -o requirements/bootstrap.txt
	$(COMPILE) pyproject.toml --group build -o requirements/base.txt
	$(COMPILE) pyproject.toml --all-extras --group build --group test --group check -o requirements/test.txt

clean: ## remove the environment and what tools left behind
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist

$(VENV)/.uv: requirements/bootstrap.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Earpiece needs Python 3.11 or newer; name one with: make PYTHON=python3.12'; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/bootstrap.txt
	@touch $@

$(VENV)/.base: $(VENV)/.uv requirements/base.txt pyproject.toml
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/base.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.base requirements/test.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/test.txt
	@touch $@
