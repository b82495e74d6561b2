# Everything runs from the virtual environment .venv in this folder, which `make setup` makes: it needs Python 3.11,
# 3.12 or 3.13 with pip and, that once, a package index. `make` alone lists the targets.

PYTHON ?= python3
ARGS ?=
JOBS ?= 2
GPU ?= runs/gpu
SOURCE ?=
# Named once, here: `?=` would ask for the time again wherever the name is used, and a second may pass in between.
ifndef RUN
RUN := runs/demo-$(shell date +%Y%m%d-%H%M%S)
endif

SHELL := bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-rest test-all test-faults test-strength coverage test-hosts docs notebooks lint format cards bench gpu constraints hashes dist clean distclean

VENV := .venv
export NO_MKDOCS_2_WARNING := 1
PY := $(VENV)/bin/python
STAMP := $(VENV)/.setup-done
LOG := $(VENV)/setup.log
PIP := $(PY) -m pip --disable-pip-version-check
# A path in a .pth file, not setuptools' finder of packages: Python would find the folder of the checkout before the
# finder is asked, if it starts in the folder above, and take it for the package dancfr.
EDITABLE := --config-settings editable_mode=compat
# Tools are run through the interpreter: their scripts name a path that breaks when the checkout moves or has spaces.
RUFF := $(PY) -m ruff
DANCFR := $(PY) -m dancfr

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(firstword $(MAKEFILE_LIST)) | awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'
	@echo
	@echo '  PYTHON=python3.12   interpreter for `make setup`       RUN=runs/mine   run folder of `make demo`'
	@echo '  GPU=runs/gpu        folder of `make gpu`                   ARGS=90         its minutes'
	@echo '  ARGS="..."          more for pytest (`make test`) or for the training of `make demo`'

setup: $(STAMP) ## make .venv with all that is needed (redone only when pyproject.toml or constraints.txt change)

demo: $(STAMP) ## train DREAM on Geister for a few minutes, evaluate it, bound its exploitability, write a report
	$(DANCFR) train geister-quick --run-dir "$(RUN)" $(ARGS)
	@for opponent in random heuristic rush; do \
	    printf '\nAgainst %s, 1000 games of at most 300 plies:\n' $$opponent; \
	    $(DANCFR) evaluate "$(RUN)" --game geister --against $$opponent --games 1000 --seed 1 --ply-limit 300 || exit 1; \
	done
	@printf '\nA best response, trained for a minute: how much can the agent lose?\n'
	$(DANCFR) exploit "$(RUN)" --minutes 1 --eval-games 2000 --seed 1 --out "$(RUN)/response"
	$(DANCFR) report "$(RUN)"
	@printf '\nA stronger agent in the same time: dancfr train geister-policy-gradient-quick\n'
	@printf '\nThe report: %s\n' "$$(cd "$(RUN)" && pwd)/report.html"

# Groups in the order of their files, so that the small ones come last; xdist would go by the number of tests.
PYTEST := $(PY) -m pytest -n $(JOBS) --dist loadgroup --no-loadscope-reorder

test: $(STAMP) ## run the tests that every change needs: 7 to 23 minutes on 2 cores, in as many processes as JOBS says
	$(PYTEST) -m "not slow and not long" $(ARGS)

test-rest: $(STAMP) ## run the slow tests that `make test` leaves out: whole trainings, processes, sockets, kills
	$(PYTEST) -m "slow and not long" $(ARGS)

test-all: $(STAMP) ## run both
	$(PYTEST) -m "not long" $(ARGS)

coverage: $(STAMP) ## which lines the tests of `make test-all` reach, processes that they start included: htmlcov/index.html
	$(PY) -m coverage erase
	$(PY) -m coverage run -m pytest -m "not long" $(ARGS); status=$$?; \
	$(PY) -m coverage combine -q; $(PY) -m coverage report --skip-covered --sort=cover | tail -n 60; \
	$(PY) -m coverage html -q; exit $$status

test-faults: $(STAMP) ## do a training every harm it is built to survive: some 50 minutes, and 30 more for the soak
	$(PY) -m pytest -s -m "long or not long" tests/faults tests/cluster/test_three_nodes.py \
	    tests/dancfr/methods $(ARGS)

# In one process each and without a limit of time, so that the result does not depend on the speed of the machine.
test-strength: $(STAMP) ## train four presets and hold their strength against bounds: some 70 minutes, before a release
	$(PY) -m pytest -s -m "long or not long" tests/strength $(ARGS)

test-hosts: $(STAMP) ## `ray up` on three hosts over ssh (network namespaces: needs root, iproute2, sshd, rsync)
	DANCFR_TEST_HOSTS=1 $(PY) -m pytest -s tests/cluster/test_ray_up.py $(ARGS)

docs: $(STAMP) ## make the site of the documents, with the API, in site/
	$(PY) -m mkdocs build --strict

notebooks: $(STAMP) ## write the notebooks of examples/ as .ipynb files, beside a wheel for their first cell: dist/notebooks/
	$(PY) docs/site/notebooks.py dist/notebooks --source "$(SOURCE)"
	$(PY) -m build --wheel --no-isolation --outdir dist/notebooks . >/dev/null

lint: $(STAMP) ## style, types, the direction of imports, links of documents, prose: the checks of CI beside the tests
	@failed=; \
	for check in "-m ruff check ." "-m ruff format --check ." "-m mypy" "$(VENV)/bin/lint-imports --no-logo" \
	    "-m mkdocs build --strict -d $(VENV)/site" "-m tests.packaging.prose"; do \
	    name=$${check#-m }; name=$${name##*/}; name=$${name% --no-logo}; echo "$$name"; \
	    $(PY) $$check || failed="$$failed$${failed:+, }$$name"; \
	done; \
	[ -z "$$failed" ] || { echo "lint failed: $$failed" >&2; exit 1; }; \
	echo "lint passed"

format: $(STAMP) ## put the source into the house's format
	$(RUFF) check --fix .
	$(RUFF) format .

cards: $(STAMP) ## rewrite docs/reference/pretrained.md by the cards of the pretrained agents
	$(PY) -m dancfr.agents.pretrained_page

bench: $(STAMP) ## run every benchmark, write docs/results/benchmarks.json and the table beside it
	$(PY) -m dancfr.bench.table

gpu: $(STAMP) ## everything that needs a GPU, in 40 minutes: tests, rates, paper 000, GuanDan; a second call resumes
	OMP_NUM_THREADS=1 $(PY) -m dancfr.bench.gpu "$(GPU)" $(ARGS)

# Without $(STAMP): after an edit of pyproject.toml the set-up would put the old versions back first.
constraints: ## write the versions that .venv holds to constraints.txt
	@[ -e $(STAMP) ] || { echo "error: there is no .venv to take the versions from: run make setup first" >&2; exit 1; }
	@{ grep '^#' constraints.txt; \
	   $(PIP) freeze --all --exclude pip --exclude dancfr | grep '==' | sed -E 's/\+[a-z0-9.]+$$//'; } > $(VENV)/constraints.txt
	@cmp -s $(VENV)/constraints.txt constraints.txt || cp $(VENV)/constraints.txt constraints.txt
	@[ pyproject.toml -nt $(STAMP) ] || touch $(STAMP)

hashes: ## write the hash of every package of the image and of all extras to docker/*.txt (needs Python 3.11 and PyPI)
	$(PYTHON) docker/lock.py

dist: $(STAMP) ## build and check the files of a release from the newest commit, in dist/; TAG=v1.2.3 for the release itself
	$(PY) -m tests.packaging.release $(if $(TAG),--tag "$(TAG)")

clean: ## remove caches and build results; runs and .venv stay
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find $(wildcard dancfr actors learners envs tests) -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove .venv too
	rm -rf $(VENV)

# --- set-up ----------------------------------------------------------------------------------------------------------

# The versions of Python that the tests run on, and that pyproject.toml accepts.
SUPPORTED := sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))

# A .venv that an interrupted set-up left without pip, or that another Python made, is made again. setuptools comes first
# and build isolation is off, so that the pinned setuptools builds what has to be built and a later `make setup` that
# finds everything in place needs no network.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; $(SUPPORTED)' 2>/dev/null || { \
	    echo "error: dancfr needs Python 3.11, 3.12 or 3.13, but '$(PYTHON)' is" \
	         "$$($(PYTHON) --version 2>/dev/null || echo not to be found): name another, e.g. make $(MAKECMDGOALS) PYTHON=python3.11" >&2; \
	    exit 1; }
	@$(PY) -c 'import pip, sys; $(SUPPORTED)' 2>/dev/null || { \
	    echo "Setting up .venv with $$($(PYTHON) --version) (a few minutes, once)"; \
	    $(PYTHON) -m venv --clear $(VENV); } || { \
	    echo "error: $(PYTHON) cannot make a virtual environment (on Debian and Ubuntu: apt install python3-venv)" >&2; \
	    exit 1; }
	@$(PIP) install --quiet -c constraints.txt setuptools
	@set -o pipefail; \
	$(PIP) install --progress-bar off -c constraints.txt --no-build-isolation $(EDITABLE) -e '.[all,dev,bench]' 2>&1 | tee $(LOG) | { \
	    count=0; \
	    while IFS= read -r line; do case "$$line" in \
	        "Collecting "*|"Processing "*) \
	            count=$$((count + 1)); name=$${line#* }; name=$${name##*/}; name=$${name%% *}; \
	            if [ -t 1 ]; then printf '  package %3d: %-50.50s\r' $$count "$$name"; \
	            elif [ $$((count % 25)) = 0 ]; then echo "  $$count packages found"; fi ;; \
	        "Installing collected packages"*) \
	            [ $$count -lt 2 ] || printf '  %-64s\n' "installing $$count packages, which takes minutes" ;; \
	    esac; done; } || { \
	    echo "error: pip could not install the packages; from the log $(LOG):" >&2; \
	    { grep -a -A 3 '^ERROR' $(LOG) || cat $(LOG); } | tail -n 12 >&2; exit 1; }
	@touch $@
