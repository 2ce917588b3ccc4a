# One word for each thing to do. Needs GNU make, Python >= 3.11, for the local Kafka Java >= 17 and Maven, for the tests of the
# chart Go >= 1.24, and Debian's prometheus where it is not on the PATH.

PYTHON ?= python3
# Installed packages change with these two files only.
STAMP := .venv/.installed
RUNS ?= 1000000
SEED ?= 1
JOBS ?= 2
KILLS ?= 200
EXAMPLES ?= 2000

.DEFAULT_GOAL := help
.PHONY: help demo test fuzz chaos convergence autoscaling images evaluate verdict audit lint clean

help: ## this list
	@echo 'make demo                              papers in, links out, and how they change, on a Kafka of its own'
	@echo 'make demo PAPERS=folder CATALOG=file   the same with your JATS and your works (JSON lines, .gz or not)'
	@echo '          also EXPECTED=file SNAPSHOT=folder KEEP=folder PROFILE=paper JSON=file NO_SECOND_ACT=1'
	@echo 'make test                              all tests, against a real Kafka and the real model; ARGS for pytest'
	@echo 'make fuzz RUNS=1000000 SEED=1 JOBS=2  damaged papers into the parser, made from real ones and by coverage'
	@echo 'make chaos KILLS=200 SEED=1            workers killed by phase, broker, network and disk hurt: nothing lost or doubled'
	@echo 'make convergence EXAMPLES=2000 SEED=1   random histories end in the links of a fresh run; KAFKA=20 of them on a real Kafka'
	@echo 'make autoscaling                       the chart on a real control plane with KEDA: lag, replicas, links through a burst'
	@echo 'make images ARGS=...                   builds the image and runs it against a real Kafka; needs root, podman and runc'
	@echo 'make lint                              ruff, mypy --strict and the audit'
	@echo 'make evaluate                          accuracy: everything reflink evaluate measures, with a report under .cache/report'
	@echo '          also CATALOG=file REFERENCES=file REPORT=folder PROFILE=paper JSON=file OUTCOMES=file; takes hours once, to encode'
	@echo 'make verdict                           trains the verdict anew: reflink/verdict/{model,folds}.json'
	@echo 'make audit                             known vulnerabilities and licences of what is pinned; says what it cannot check'
	@echo 'make clean                             removes .venv, caches, and what Maven and builds left'
	@echo
	@echo 'With REFLINK_KAFKA_BOOTSTRAP_SERVERS set, the demo uses that broker. PYTHON chooses the Python of .venv.'

$(STAMP): pyproject.toml requirements.lock
	@command -v $(PYTHON) >/dev/null || { echo '$(PYTHON) was not found: install Python >= 3.11, or set PYTHON' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python >= 3.11 is needed and $(PYTHON) is $$($(PYTHON) -V): set PYTHON to a newer one" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo '$(PYTHON) cannot make virtual environments: install its venv module (python3-venv)' >&2; exit 1; }
	@echo 'installing into .venv, once: the encoder brings PyTorch, some gigabytes'
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25'
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[semantic,dev]'
	@touch $@

demo: $(STAMP)
	@.venv/bin/reflink-worker demo \
		$(if $(PAPERS),--papers '$(PAPERS)') $(if $(CATALOG),--catalog '$(CATALOG)') $(if $(EXPECTED),--expected '$(EXPECTED)') \
		$(if $(SNAPSHOT),--snapshot '$(SNAPSHOT)') $(if $(KEEP),--keep '$(KEEP)') $(if $(PROFILE),--profile '$(PROFILE)') \
		$(if $(JSON),--json '$(JSON)') $(if $(NO_SECOND_ACT),--no-second-act)

test: $(STAMP)
	@.venv/bin/python -m workers.local
	@.venv/bin/python -m tests.programs helm kubeconform prometheus promtool >/dev/null
	@.venv/bin/pytest $(ARGS)

fuzz: $(STAMP)
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[fuzz]'
	@.venv/bin/python -m tests.fuzz --runs $(RUNS) --seed $(SEED) --jobs $(JOBS) $(if $(JSON),--json '$(JSON)')
	@.venv/bin/python -m tests.fuzz guided --minutes 5

chaos: $(STAMP)
	@.venv/bin/python -m workers.local
	@.venv/bin/python -m tests.chaos --kills $(KILLS) --seed $(SEED) $(if $(JSON),--json '$(JSON)')

convergence: $(STAMP)
	@$(if $(KAFKA),.venv/bin/python -m workers.local)
	@.venv/bin/python -m tests.convergence --examples $(EXAMPLES) --seed $(SEED) --kafka $(or $(KAFKA),0) \
		$(if $(JSON),--json '$(JSON)')

autoscaling: $(STAMP)
	@.venv/bin/python -m workers.local
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[bench]'
	@.venv/bin/python -m tests.autoscaling $(if $(JSON),--json '$(JSON)') $(if $(PLOT),--plot '$(PLOT)')

images: $(STAMP)
	@.venv/bin/python docker/prove.py $(ARGS)

evaluate: CATALOG ?= ../shared/data/works.jsonl.gz
evaluate: REFERENCES ?= ../shared/data/references_dev.jsonl.gz
evaluate: REPORT ?= .cache/report
evaluate: $(STAMP)
	@.venv/bin/reflink evaluate --full --catalog '$(CATALOG)' --references '$(REFERENCES)' --report '$(REPORT)' \
		--json '$(or $(JSON),$(REPORT)/figures.json)' $(if $(OUTCOMES),--outcomes '$(OUTCOMES)') \
		$(if $(PROFILE),--profile '$(PROFILE)')

verdict: CATALOG ?= ../shared/data/works.jsonl.gz
verdict: REFERENCES ?= ../shared/data/references_dev.jsonl.gz
verdict: $(STAMP)
	@.venv/bin/python -m reflink.evaluation.training --works '$(CATALOG)' --references '$(REFERENCES)' --out reflink/verdict/model.json
	@echo "its sha256 belongs into reflink/shipped.py:"; sha256sum reflink/verdict/model.json

audit: $(STAMP)
	@.venv/bin/python -m tests.audit

lint: $(STAMP) audit
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy

clean:
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
