# Everything a person or CI does here. `make help` lists it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
RUNTIME := .make/runtime
DEV := .make/dev
PROMTOOL := .make/promtool

# Whoever asks Python to keep no bytecode would wait for all tests to be compiled anew, in each process.
export PYTHONDONTWRITEBYTECODE :=

# Where half a gigabyte of memory is free for files, temporary ones are there: on a disk every commit is waited for.
IN_MEMORY := if [ "$$(df -Pk /dev/shm 2>/dev/null | awk 'END { print $$4 + 0 }')" -gt 500000 ]; then export TMPDIR=/dev/shm; fi;

.PHONY: help demo test every quick spark check bench bench-similar chaos soak lock clean format

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(RUNTIME) ## build a small shop with duplicates, find them, show what people would be told
	@$(BIN)/reconcile demo

# Three processes on two cores: a third of the time tests wait for locks, leases and servers that they slow down.
WHOLE := -q -m "not spark" -n 3 --dist loadfile --no-loadscope-reorder --ignore tests/product/chaos/test_soak.py \
	--hypothesis-profile test -o tmp_path_retention_policy=failed

test: $(DEV) ## the whole suite; needs PostgreSQL and MariaDB (see README), about an hour on two slow cores; LIMIT=… (seconds)
	@$(IN_MEMORY) $(BIN)/pytest $(WHOLE) --spread 3 $(if $(LIMIT),--limit $(LIMIT)) # of a costly test with many cases, three
	@$(BIN)/pytest -q tests/product/chaos/test_soak.py # alone: what it sees of others' load it would take for its own

every: $(DEV) ## the whole suite with all cases of every test, about 90 minutes on two cores
	@$(IN_MEMORY) $(BIN)/pytest $(WHOLE)

quick: $(DEV) ## the inner loop: no servers, two to three minutes on two cores
	@$(IN_MEMORY) $(BIN)/pytest -q -m "not server and not slow and not chaos and not spark" -n 2 --dist worksteal \
		--hypothesis-profile quick -o tmp_path_retention_policy=failed

spark: $(DEV) ## rules in Spark, on clusters and servers that it starts and stops; needs Java 17 and PostgreSQL's JDBC driver
	@$(BIN)/python -c 'import grpc_status, pyspark' 2>/dev/null || \
		if command -v uv >/dev/null; then uv pip install -q --python $(BIN)/python --no-deps --require-hashes -r requirements-spark.lock; \
		else $(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements-spark.lock; fi
	@for file in cluster jdbc connect; do $(BIN)/pytest -q -n 0 -m spark tests/connectors/spark/test_$$file.py; done # a process has one kind of session

check: $(DEV) ## formatting, lint, security, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/bandit -q -c pyproject.toml -r reconcile rules connectors notifications bench examples
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV) ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(DEV) ## compare with scripts by hand: SQL, polars, pandas, networkx; writes bench/RESULTS.md
	$(BIN)/python -m bench

bench-similar: $(DEV) ## kind `similar` on labelled sets, next to the specialists of bench/similar/peers.txt: writes bench/RESULTS-similar.md
	$(BIN)/python -m bench.similar

chaos: $(DEV) ## the long tier of the kill tests, with a table of what it came to: SEED=… SECONDS=… (1200, for its random part)
	@$(BIN)/python tests/product/chaos/run.py --seconds $(or $(SECONDS),1200) $(if $(SEED),--seed $(SEED))

soak: $(DEV) ## serve with everything around it failing now and then: SEED=… SECONDS=… (600)
	RECONCILE_SOAK_SECONDS=$(or $(SECONDS),600) RECONCILE_SEED=$(SEED) $(BIN)/pytest -q -s -n 0 tests/product/chaos/test_soak.py

lock: ## resolve the dependencies anew into the three lock files (needs uv)
	uv pip compile -q --universal --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--python-version 3.11 --extra all -o requirements.lock pyproject.toml
	uv pip compile -q --universal --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
		--python-version 3.11 --extra dev -c requirements.lock -o requirements-dev.lock pyproject.toml
	# What Spark and Spark Connect need beyond the packages for development.
	echo 'pyspark[connect]>=4.3,<5' | uv pip compile -q --universal --generate-hashes --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links --python-version 3.11 -c requirements-dev.lock -o requirements-spark.lock \
		$$(sed -n 's/^\([A-Za-z0-9._-]*\)==.*/--no-emit-package \1/p' requirements-dev.lock | sort -u) -

clean: ## forget the environment and every cache
	rm -rf $(VENV) .make .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/pyvenv.cfg:
	@if command -v uv >/dev/null; then uv venv -q --python "$$(command -v $(PYTHON))" $(VENV); \
	elif $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then $(PYTHON) -m venv $(VENV); \
	else echo "Python's venv module is missing here; install it (Debian, Ubuntu: apt-get install python3-venv) and run make again." >&2; exit 1; fi
	@touch $@

# One recipe for both environments: exactly the locked files, then this checkout on top.
define install
	@echo "installing $(1) into $(VENV)"
	@if command -v uv >/dev/null; then \
		uv pip install -q --compile-bytecode --python $(BIN)/python --require-hashes -r $(1) && \
		uv pip install -q --python $(BIN)/python --no-deps -e .; \
	else \
		$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r $(1) && \
		$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e .; \
	fi
	@$(BIN)/python -m compileall -q reconcile rules connectors notifications
	@mkdir -p .make && touch $@
endef

$(RUNTIME): requirements.lock pyproject.toml | $(VENV)/pyvenv.cfg
	$(call install,requirements.lock)

$(DEV): requirements-dev.lock $(RUNTIME) $(PROMTOOL)
	$(call install,requirements-dev.lock)

# promtool tests the shipped alerts. Only this program of Debian's package is unpacked; no server is installed.
$(PROMTOOL): | $(VENV)/pyvenv.cfg
	@mkdir -p .make/prometheus
	@if command -v promtool >/dev/null; then \
		ln -sf "$$(command -v promtool)" $(BIN)/promtool; \
	elif command -v apt-get >/dev/null; then \
		echo "unpacking promtool into $(VENV)"; cd .make/prometheus; \
		{ apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus; }; } && \
		dpkg-deb -x prometheus_*.deb . && install usr/bin/promtool $(CURDIR)/$(BIN)/promtool; \
	fi 2>/dev/null || true
	@[ -x $(BIN)/promtool ] || echo "promtool is missing, so the tests of the alerts are skipped; install Prometheus" >&2
	@rm -rf .make/prometheus && touch $@
