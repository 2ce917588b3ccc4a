# One word for each thing to do. Needs GNU make, Python >= 3.11, for the local Kafka Java >= 17 and Maven, for the tests of the
# chart Go >= 1.24, and Debian's prometheus where it is not on the PATH.

PYTHON ?= python3
# Installed packages change with these two files only.
STAMP := .venv/.installed
# The kernels of numba change with the library only.
KERNELS := .venv/.kernels
RUNS ?= 1000000
FORMAT ?= jats
SEED ?= 1
JOBS ?= 2
KILLS ?= 200
FREEZES ?= 100
BROKERS ?= 1
NODES ?= 1
PROCESSES ?= 2
EXAMPLES ?= 2000
comma := ,
PIP := -m pip --disable-pip-version-check install --quiet
# Whatever index pip is set to use: nothing is installed whose sha256 is not in requirements.lock. No source packages, as those
# run code and fetch what builds them; but pyspark has no wheel, and the locked setuptools in .venv builds it.
SOURCES := --only-binary :all: --no-binary pyspark
HASHED := --require-hashes $(SOURCES) --no-build-isolation --requirement

# The locked packages of groups into .venv.
define locked
@$(PYTHON) docker/steps/requirements.py . $(1) >.venv/wanted.txt
@.venv/bin/python $(PIP) $(HASHED) .venv/wanted.txt
endef

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all durations mutation fuzz chaos convergence autoscaling images evaluate papers verdict audit lock lint clean

help: ## this list
	@echo 'make install EXTRAS=export             .venv with the encoder and the tools of the tests, and more extras with commas'
	@echo 'make demo                              papers in, links out, and how they change, on a Kafka of its own'
	@echo 'make demo PAPERS=folder CATALOG=file   the same with your JATS and your works (JSON lines, .gz or not)'
	@echo 'make demo SOURCE=medline CATALOG=folder  the same with the works of a bibliographic database: reflink catalog sources'
	@echo 'make demo ENGINE=opensearch            the same with candidates from a local OpenSearch (docs/scale.md)'
	@echo '          also EXPECTED=file SNAPSHOT=folder KEEP=folder PROFILE=paper JSON=file NO_SECOND_ACT=1'
	@echo 'make test                              what a change must pass, against a real Kafka and the real model; ARGS for pytest'
	@echo 'make test-all                          all tests with their full counts of examples, also of campaigns and benchmarks: for CI'
	@echo 'make durations                         the same as make test, and its slowest tests'
	@echo '          PROCESSES=2 run test modules side by side; 0 runs them in one process'
	@echo 'make mutation MUTANTS=200 SEED=1       the share of small faults in the runtime, the ledger and the verdict that tests find'
	@echo 'make fuzz RUNS=1000000 SEED=1 JOBS=2  damaged papers into the parser, made from real ones and by coverage'
	@echo 'make fuzz FORMAT=tei RUNS=100000      the same with papers of another format'
	@echo 'make chaos KILLS=200 FREEZES=100 SEED=1  workers killed by phase, frozen, kicked; broker, network, disk: nothing lost or'
	@echo '          doubled; BROKERS=3 on a cluster whose brokers are killed; JSON=file'
	@echo 'make chaos ENGINE=opensearch NODES=3    the same with candidates from OpenSearch, and faults of its nodes, index and indexer'
	@echo 'make convergence EXAMPLES=2000 SEED=1   random histories end in the links of a fresh run; KAFKA=20 of them on a real Kafka,'
	@echo '          with ENGINE=opensearch those with candidates from OpenSearch'
	@echo 'make autoscaling                       the chart on a real control plane with KEDA: lag, replicas, links through a burst'
	@echo 'make images ARGS=...                   builds the image and runs it against a real Kafka; needs root, podman and runc'
	@echo 'make lint                              ruff, mypy --strict and the audit'
	@echo 'make evaluate                          accuracy: everything reflink evaluate measures, with a report under .cache/report'
	@echo '          also CATALOG=file REFERENCES=file PUBMED=folder REPORT=folder PROFILE=paper JSON=file OUTCOMES=file; takes hours once, to encode'
	@echo 'make papers ONLY="003 004"               the systems of the papers that reflink is built from, beside it: docs/papers.md; resumes'
	@echo 'make verdict                           trains the verdict anew: reflink/verdict/{model,folds}.json'
	@echo 'make audit                             known vulnerabilities and licences of what is pinned; says what it cannot check'
	@echo 'make lock                              writes requirements.lock again after a change of pyproject.toml; what fits stays'
	@echo '          also ARGS="--upgrade-package NAME", or ARGS=--upgrade for all'
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
	$(call locked,core$(comma)build$(comma)semantic$(comma)dev)
	@.venv/bin/python $(PIP) --no-index --no-deps --no-build-isolation --editable .
	@found=$$(.venv/bin/python -m pip --disable-pip-version-check check) || { echo "$$found" >&2; exit 1; }
	@touch $@

install: $(STAMP)
	$(if $(EXTRAS),$(call locked,$(EXTRAS)))

demo: $(STAMP)
	@.venv/bin/reflink-worker demo \
		$(if $(PAPERS),--papers '$(PAPERS)') $(if $(CATALOG),--catalog '$(CATALOG)') $(if $(SOURCE),--source '$(SOURCE)') $(if $(EXPECTED),--expected '$(EXPECTED)') \
		$(if $(SNAPSHOT),--snapshot '$(SNAPSHOT)') $(if $(KEEP),--keep '$(KEEP)') $(if $(PROFILE),--profile '$(PROFILE)') \
		$(if $(ENGINE),--engine '$(ENGINE)') $(if $(JSON),--json '$(JSON)') $(if $(NO_SECOND_ACT),--no-second-act)

# Compiled before the tests, so that no test with a deadline waits for the compiler.
$(KERNELS): $(STAMP) docker/steps/kernels.py $(shell find reflink -name "*.py" 2>/dev/null)
	@.venv/bin/python docker/steps/kernels.py examples
	@touch $@

# The programs that the tests need, then pytest. Its processes share out the test modules.
define pytest
@.venv/bin/python -m workers.devkit opensearch
@.venv/bin/python -m tests.programs helm kubeconform prometheus promtool >/dev/null
@.venv/bin/pytest $(if $(filter-out 0,$(PROCESSES)),-n $(PROCESSES) --dist loadfile) $(1) $(ARGS)
endef

test: export REFLINK_TEST_TIER = dev
test: $(KERNELS)
	$(call pytest,-m 'not full')

test-all: $(KERNELS)
	$(call locked,spark)
	$(call pytest)

durations: export REFLINK_TEST_TIER = dev
durations: $(KERNELS)
	$(call pytest,-m 'not full' --durations 60)

mutation: $(STAMP)
	@.venv/bin/python -m tests.mutation workers/runtime workers/ledger reflink/verdict --mutants $(or $(MUTANTS),200) \
		--seed $(SEED) $(if $(JSON),--json '$(JSON)')

fuzz: $(STAMP)
	$(call locked,fuzz)
	@.venv/bin/python -m tests.campaigns.fuzz --format $(FORMAT) --runs $(RUNS) --seed $(SEED) --jobs $(JOBS) $(if $(JSON),--json '$(JSON)')
	$(if $(filter jats,$(FORMAT)),@.venv/bin/python -m tests.campaigns.fuzz guided --minutes 5)

chaos: $(STAMP)
	@.venv/bin/python -m workers.devkit $(ENGINE)
	@.venv/bin/python -m tests.campaigns.chaos --kills $(KILLS) --freezes $(FREEZES) --brokers $(BROKERS) --seed $(SEED) \
		$(if $(ENGINE),--engine '$(ENGINE)' --nodes $(NODES)) $(if $(JSON),--json '$(JSON)')

convergence: $(STAMP)
	@$(if $(KAFKA),.venv/bin/python -m workers.devkit $(ENGINE))
	@.venv/bin/python -m tests.campaigns.convergence --examples $(EXAMPLES) --seed $(SEED) --kafka $(or $(KAFKA),0) \
		$(if $(ENGINE),--engine '$(ENGINE)') $(if $(JSON),--json '$(JSON)')

autoscaling: $(STAMP)
	@.venv/bin/python -m workers.devkit
	$(call locked,bench)
	@.venv/bin/python -m tests.campaigns.autoscaling $(if $(JSON),--json '$(JSON)') $(if $(PLOT),--plot '$(PLOT)')

images: $(STAMP)
	@.venv/bin/python docker/prove.py $(ARGS)

evaluate: CATALOG ?= ../shared/data/works.jsonl.gz
evaluate: REFERENCES ?= ../shared/data/references_dev.jsonl.gz
evaluate: REPORT ?= .cache/report
evaluate: PUBMED ?= $(wildcard ../shared/data/pubmed)
evaluate: $(STAMP)
	$(call locked,report)
	@.venv/bin/reflink evaluate --full --catalog '$(CATALOG)' --references '$(REFERENCES)' --report '$(REPORT)' \
		--json '$(or $(JSON),$(REPORT)/figures.json)' $(if $(OUTCOMES),--outcomes '$(OUTCOMES)') \
		$(if $(PROFILE),--profile '$(PROFILE)') $(if $(PUBMED),--pubmed '$(PUBMED)')

papers: $(STAMP)
	$(call locked,report)
	@.venv/bin/python -m benchmarks.reproduction $(foreach paper,$(ONLY),--only $(paper))

verdict: CATALOG ?= ../shared/data/works.jsonl.gz
verdict: REFERENCES ?= ../shared/data/references_dev.jsonl.gz
verdict: PUBMED ?= ../shared/data/pubmed
verdict: $(STAMP)
	@.venv/bin/python -m reflink.evaluation.training --works '$(CATALOG)' --references '$(REFERENCES)' --pubmed '$(PUBMED)' \
		--out reflink/verdict/model.json
	@echo "its sha256 belongs into reflink/shipped.py:"; sha256sum reflink/verdict/model.json

audit: $(STAMP)
	@.venv/bin/python -m tests.audit

lock:
	@$(PYTHON) -m venv .cache/lock
	@$(PYTHON) docker/steps/requirements.py . lock >.cache/lock/wanted.txt
	@.cache/lock/bin/python $(PIP) $(HASHED) .cache/lock/wanted.txt
	@.cache/lock/bin/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 $(SOURCES) \
		--generate-hashes --custom-compile-command 'make lock' --quiet \
		--output-file requirements.lock $(ARGS)

lint: $(STAMP) audit
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy

clean:
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
