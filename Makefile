# Each target creates .venv from the pinned constraints.txt when it is missing or older than what it is made from.

PYTHON ?= python3
VENV := .venv
BENCH := .venv-bench
AUTOGLUON := .venv-autogluon
PACKAGES := 'import sysconfig; print(sysconfig.get_path("purelib"))'
BIN := $(VENV)/bin
DATA ?= ../shared/data
CELLS ?= *

# Compiled modules are kept even where the environment says not to: a process that imports torch starts in half the time.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long test-browser docs check format bench bench-training bench-search bench-serving bench-large parity golden mutants reproduce m4 epf defaults auto zoo coverage cross-validation soak release-check clean

help: ## List the targets
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(VENV)/.ready ## Create the environment

# The package alone, which is all that the demonstration needs. Python compiles modules when it first loads them, which
# takes a third less time in all than compiling every module of torch here.
$(VENV)/.package: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e .
	touch $@

# What the tests and checks need besides.
$(VENV)/.ready: $(VENV)/.package
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[test,dev]"
	touch $@

# NeuralForecast beside what is in $(VENV), which does not have it: nothing is installed twice.
$(BENCH)/.ready: $(VENV)/.ready
	$(PYTHON) -m venv $(BENCH)
	{ $(BIN)/python -c $(PACKAGES); echo $(CURDIR)/src; } > $$($(BENCH)/bin/python -c $(PACKAGES))/base.pth
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "neuro-divergent[bench]"
	$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps xlstm==2.0.6 # which their xLSTM needs
	touch $@

demo: $(VENV)/.package ## Train on bundled data, show forecasts, write a page
	$(BIN)/nd demo

test: setup ## Run the tests
	$(BIN)/python -m pytest

test-long: setup ## Run the tests that take long
	$(BIN)/python -m pytest -m 'long and not soak'

test-browser: $(VENV)/.browser ## Run the tests in Chromium, which this installs where it can; pictures go to build/screenshots
	$(BIN)/python -m pytest -m browser

$(VENV)/.browser: $(VENV)/.ready tools/install-chromium
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[browser]"
	tools/install-chromium
	touch $@

docs: setup ## Build the site below build/site: run the tutorials, generate the reference, check every link
	$(BIN)/python -m tools.site build

check: setup ## Check format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup ## Format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(BENCH)/.ready ## Measure against NeuralForecast, in an environment of its own
	$(BENCH)/bin/python benchmarks/versus_neuralforecast.py --data $(DATA)

bench-training: setup ## Measure the trainer: overhead, being watched, ladder, vectorizing, recomputing, batch sizes, optimizers and schedules
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/watching.py
	$(BIN)/python benchmarks/training_ladder.py
	$(BIN)/python benchmarks/vectorized.py
	$(BIN)/python benchmarks/recompute.py
	$(BIN)/python benchmarks/batch_size.py --data $(DATA)
	$(BIN)/python benchmarks/optimizers.py --data $(DATA)

bench-search: $(BENCH)/.ready ## Search the space of NeuralForecast's AutoNHITS on both sides, and measure what a search takes; writes into docs/results/benchmarks.md
	$(BENCH)/bin/python benchmarks/search.py --data $(DATA) --page
	$(BIN)/python benchmarks/search_overhead.py

bench-large: $(BENCH)/.ready ## Measure panels larger than memory: reading, steps, growth, conversion; wants a quiet machine and 10 GB of disk
	$(BIN)/python benchmarks/out_of_core.py --data $(DATA)

bench-serving: $(BENCH)/.ready ## Measure prediction, export, handler, cold start, server and scoring of a million series; wants a quiet machine
	$(BENCH)/bin/python benchmarks/predict_latency.py
	$(BENCH)/bin/python benchmarks/handler.py
	$(BIN)/python benchmarks/cold_start.py
	$(BIN)/python benchmarks/server.py
	$(BIN)/python benchmarks/export_int8.py --data $(DATA)
	$(BIN)/python benchmarks/export_zoo.py --int8
	$(BIN)/python benchmarks/scoring.py --series 1000000 --directory build/scoring

parity: $(BENCH)/.ready ## Compare parameter counts and outputs, the stored ones too, with NeuralForecast's networks
	$(BENCH)/bin/python -m pytest tests/parity

golden: setup ## Compute and store the forecasts of all architectures by formula again (tests/numerics/golden/values)
	$(BIN)/python -m tests.numerics.golden.stored

mutants: setup ## Plant known bugs in a copy of the package, one at a time, and see that tests notice each
	$(BIN)/python tools/mutants.py

reproduce: setup ## Reproduce published results (CELLS=fast: in minutes); writes docs/results/reproduction.md
	$(BIN)/python benchmarks/reproduce.py --data $(DATA) --cells '$(CELLS)'

m4: $(BENCH)/.ready ## Forecast M4 hourly and yearly beside NeuralForecast; writes docs/results/competitions.md
	$(BENCH)/bin/python benchmarks/m4.py --data $(DATA) --cells '$(CELLS)'

epf: setup ## Forecast electricity prices; writes docs/results/competitions.md
	$(BIN)/python benchmarks/epf.py --data $(DATA) --cells '$(CELLS)'

defaults: $(BENCH)/.ready ## Compare what people get with nothing set with other libraries; writes docs/results/defaults.md
	$(BENCH)/bin/python benchmarks/defaults.py --data $(DATA)

# It needs other versions of much that constraints.txt pins, so it has an environment of its own, with the same torch.
$(AUTOGLUON)/.ready: constraints.txt
	$(PYTHON) -m venv $(AUTOGLUON)
	grep '^torch==' constraints.txt > $(AUTOGLUON)/constraints.txt
	$(AUTOGLUON)/bin/python -m pip install --quiet --disable-pip-version-check -c $(AUTOGLUON)/constraints.txt \
		autogluon.timeseries==1.6.3
	touch $@

auto: $(BENCH)/.ready $(AUTOGLUON)/.ready ## Compare automatic forecasters on a quiet machine, for hours; writes docs/results/auto-benchmark.md
	$(BENCH)/bin/python benchmarks/auto.py --data $(DATA)

zoo: $(BENCH)/.ready ## Time every architecture beside NeuralForecast's; writes docs/results/zoo.md
	$(BENCH)/bin/python benchmarks/zoo.py --again --page

coverage: setup ## Measure the coverage of conformal intervals on six data sets; writes docs/results/coverage.md
	$(BIN)/python benchmarks/interval_coverage.py --data $(DATA) --page

cross-validation: $(BENCH)/.ready ## Time cross-validation beside NeuralForecast's; writes into docs/guides/cross-validation.md
	$(BENCH)/bin/python benchmarks/cross_validation.py --data $(DATA) --page

soak: setup ## Run the long forms of the tests
	ND_SOAK=1 $(BIN)/python -m pytest -m 'not browser'

release-check: setup ## Build wheel and source archive, install them where no checkout is, check licences and the lowest versions
	$(BIN)/python -m tools.release

clean: ## Delete environments, caches and results
	rm -rf $(VENV) $(BENCH) $(AUTOGLUON) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build demo benchmarks/results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
