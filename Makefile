# `make demo` and `make test` need Python 3.11+ and make; everything else is installed into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-for-demo
# Many tests wait for processes and servers, so there are more workers than cores.
WORKERS ?= 5

# Thousands of small files come and go; where memory has room for them that takes half the time of a disk.
SCRATCH := $(or $(TMPDIR),$(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "/dev/shm" }'),/tmp)

# Whoever forbids Python to keep what it compiled would have each of a thousand started commands compile it all again.
export PYTHONDONTWRITEBYTECODE :=

# Only the files that hold slow tests: importing all the others takes longer than some of these run.
SLOW = -m slow $$(grep -rlE 'mark\.slow|only_full' tests --include='test_*.py')

# What tests leave, three gigabytes, goes when they pass. What failed runs once more, alone: see tests/rerun.py.
pytest = scratch=$$(mktemp -d $(SCRATCH)/affidavit-XXXXXX) && \
	  TMPDIR=$$scratch $(BIN)/python -m tests.rerun $(1) && chmod -R u+rwX $$scratch && rm -rf $$scratch

.PHONY: guards clients help setup demo test test-slow storms check format docs eval mutations bench synth package dist site chart sbom lock clean

help: ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## .venv with everything, hash-checked against requirements.lock

# Every second entry of the lock $(1), from the first or the second on: pip works on one core, so two of them share it.
# Twice quiet: they warn of what the other has written by half.
half = awk -v first=$(2) '/^[^ \#]/ { entry++ } entry % 2 == first' $(1) >$(VENV)/half-$(2).txt && \
	  $(BIN)/python -m pip install --quiet --quiet --no-compile --no-deps --require-hashes -r $(VENV)/half-$(2).txt

# Into .venv: what the file $(1) lists, by its hashes, and our own sources. Compiled once and on all cores, not by each of
# many processes at its start; the two largest are seldom asked for.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Affidavit needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@( $(call half,$(1),0) ) & ( $(call half,$(1),1) ) && wait $$!
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -qq -j 0 -x 'aws_cdk|sympy' $(VENV)/lib src || true
	@touch $@
endef

$(STAMP): requirements.lock pyproject.toml
	$(call install,requirements.lock)

# A sixth of the lock; `make setup` adds the rest to the same .venv.
$(DEMO_STAMP): requirements.lock pyproject.toml
	@mkdir -p build
	@$(PYTHON) -m release.selection agent aws sandbox > build/requirements-demo.txt
	$(call install,build/requirements-demo.txt)

demo: $(if $(wildcard $(STAMP)),setup,$(DEMO_STAMP)) ## the whole story on this machine: fault, alert, investigation, proof, repair, undo; under two minutes
	@rm -rf build/demo
	@$(BIN)/affidavit demo --out build/demo $(if $(PROVIDER),--provider $(PROVIDER))

# With ALL=1, as CI asks, the slow ones come first and the others fill the time in which those wait: imported and collected
# once, and what both kinds need (templates, packages, a sandbox for each worker) is made once.
test: setup ## the tests, but for the slow ones; ALL=1: all in one run
	@$(call pytest,--workers $(WORKERS) -m "not slow$(if $(ALL), or slow)")

test-slow: setup ## storms, deployments into the emulator, killed processes, every scenario: minutes each
	@$(call pytest,--workers 3 $(SLOW))

storms: setup ## the slow tests in their whole size, before a release: see tests/support/storms.py
	@export AFFIDAVIT_STORMS=full && $(call pytest,--workers 3 $(SLOW))

check: setup ## format, lint, types, layering
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/pyright
	@$(BIN)/lint-imports

format: setup ## rewrite the sources the way `make check` wants them
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: setup ## write docs/reference again out of rules, checks and commands
	@$(BIN)/python -m affidavit.entrypoints.cli.reference.pages
	@$(BIN)/python -m release.chart

clients: setup ## the MCP server with clients from elsewhere (TypeScript, Inspector, fastmcp, LangChain, conformance suite); needs Node 20
	@$(BIN)/python -m tests.clients

eval: setup ## findings and diagnoses where the truth is known, and chat models that lie; results in build/eval
	@TMPDIR=$(SCRATCH) $(BIN)/affidavit eval all --out build/eval $(EVAL)

mutations: setup ## does each rule, check and suppression matter to some scenario? A few minutes
	@TMPDIR=$(SCRATCH) $(BIN)/affidavit eval nodes --mutations --out build/eval

guards: setup ## removes each guard of remediation in turn: does its test go red? Ten minutes
	@$(BIN)/python -m tests.guards

bench: setup ## speed as ratios against peers, measured in one run
	@$(BIN)/python -m benchmarks

synth: setup ## CloudFormation templates out of infra/, checked by cdk-nag and cfn-lint; needs no AWS and no network
	@$(BIN)/python -m infra --out build/cdk --keep infra/templates
	@$(BIN)/cfn-lint --non-zero-exit-code error infra/templates/*.json

package: setup ## the zips of the Lambda functions out of requirements.lock, for Lambda's Python; sizes are reported
	@$(BIN)/python -m infra.packaging --out build/packages

dist: setup ## wheel, sdist and MCP bundle in dist/, built twice and compared, tried in clean environments; EXTRAS=1 tries each extra
	@$(BIN)/python -m release $(if $(EXTRAS),--extras)

site: ## the pages in docs/ as a web site in build/site-pages; fails on a link that leads nowhere
	@test -x build/site/bin/mkdocs || { $(PYTHON) -m venv build/site && \
	  build/site/bin/python -m pip install --quiet mkdocs==1.6.1; }
	@build/site/bin/mkdocs build --quiet --strict

chart: setup ## renders and lints the Helm chart with Helm's own library, into charts/rendered
	@test -x build/helm/bin/python || { $(PYTHON) -m venv build/helm && \
	  build/helm/bin/python -m pip install --quiet helm-python-sdk==0.2.2; }
	@$(BIN)/python -m release.chart --helm build/helm/bin/python

sbom: ## a CycloneDX list of every locked package with its hashes, in build/sbom.json
	@test -x build/sbom/bin/cyclonedx-py || { $(PYTHON) -m venv build/sbom && \
	  build/sbom/bin/python -m pip install --quiet cyclonedx-bom==7.5.0; }
	@build/sbom/bin/cyclonedx-py requirements requirements.lock --output-reproducible --output-file build/sbom.json

lock: setup ## resolve the dependencies again and write requirements.lock
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-emit-index-url --all-extras pyproject.toml --output-file requirements.lock

clean: ## remove what was built
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis build dist
