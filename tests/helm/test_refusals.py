"""Helm refuses invalid values before it installs anything, and names them."""

from __future__ import annotations

import pytest

from tests.helm.chart import CHART, INSTALLS, KUBERNETES, choice, helm

ENGINE = "engine.kind=opensearch engine.urls={https://search:9200}"
#: Values, separated by spaces, and words of the message.
REFUSED = {
    "worker.parser.replicas=2": "additional properties 'worker' not allowed",
    "workers.parser.replica=2": "at '/workers/parser': additional properties 'replica' not allowed",
    "workers.parser.replicas=two": "at '/workers/parser/replicas': got string, want integer",
    "workers.Parser.replicas=2": "additional properties 'Parser' not allowed",
    "workers.reader.replicas=2": "workers.reader.command is reader: it must be parser, linker, fallback, ledger or indexer",
    "workers.parser.kind=DaemonSet": "at '/workers/parser/kind': value must be one of 'Deployment', 'StatefulSet'",
    "workers.parser.strategy.type=Rolling": "value must be one of 'RollingUpdate', 'Recreate'",
    "workers.linker.strategy.maxSurge=0":
        "workers.linker.strategy: maxSurge and maxUnavailable are both 0, and no pod could ever be replaced",
    "workers.parser.disruptionBudget.maxUnavailable=half": "does not match pattern",
    "workers.parser.resources.limits.memory=1GB": "at '/workers/parser/resources/limits/memory'",
    "workers.parser.resources.limit.memory=1Gi": "additional properties 'limit' not allowed",
    "workers.parser.startupSeconds=0": "at '/workers/parser/startupSeconds': minimum: got 0, want 10",
    "workers.parser.terminationMarginSeconds=0": "at '/workers/parser/terminationMarginSeconds'",
    "workers.ledger.state.size=ten": "at '/workers/ledger/state/size'",
    "workers.linker.autoscaling.minReplicas=0": "at '/workers/linker/autoscaling/minReplicas': minimum: got 0, want 1",
    "autoscaling.enabled=true workers.linker.autoscaling.maxReplicas=13":
        "workers.linker.autoscaling.maxReplicas: linker may have 13 replicas and its topic has 12 partitions",
    "autoscaling.enabled=true workers.linker-cpu.command=linker workers.linker-cpu.autoscaling.maxReplicas=1":
        "linker may have 13 replicas and its topic has 12 partitions",
    "autoscaling.enabled=true workers.linker.autoscaling.minReplicas=5 workers.linker.autoscaling.maxReplicas=4":
        "workers.linker.autoscaling.minReplicas (5) is above maxReplicas (4)",
    "autoscaling.targetLagSeconds=0": "at '/autoscaling/targetLagSeconds'",
    "autoscaling.kafkaVersion=1.0.0": "at '/autoscaling/kafkaVersion': '1.0.0' does not match pattern",
    "autoscaling.allowIdleConsumers=true": "additional properties 'allowIdleConsumers' not allowed",
    "settings.REFLINK_DEVCE=cpu": "at '/settings': additional properties 'REFLINK_DEVCE' not allowed",
    "settings.REFLINK_SLOT=one": "at '/settings': additional properties 'REFLINK_SLOT' not allowed",
    "settings.REFLINK_KAFKA_SASL_PASSWORD=x": "additional properties 'REFLINK_KAFKA_SASL_PASSWORD' not allowed",
    "settings.REFLINK_BATCH_RECORDS=0": "at '/settings/REFLINK_BATCH_RECORDS': exclusiveMinimum: got 0, want 0",
    "settings.REFLINK_DRAIN_DEADLINE_S=soon": "at '/settings/REFLINK_DRAIN_DEADLINE_S'",
    "workers.linker.settings.REFLINK_PROFILE=fast": "value must be one of 'paper', 'production'",
    "workers.linker.settings.REFLINK_MIN_PROBABILITY=0.9":
        "workers.linker.settings.REFLINK_MIN_PROBABILITY: linker and fallback must have the same: set it under settings",
    "workers.linker.settings.REFLINK_FIRST_SEARCH=trigrams":
        "workers.linker.settings.REFLINK_FIRST_SEARCH: linker and fallback must have the same: set it under settings",
    "workers.fallback.settings.REFLINK_VERSIONS=link":
        "workers.fallback.settings.REFLINK_VERSIONS: linker and fallback must have the same: set it under settings",
    "workers.parser.extraEnv[0].name=REFLINK_SLOT": "at '/workers/parser/extraEnv/0/name'",
    "kafka.bootstrapServers=kafka": "at '/kafka/bootstrapServers': 'kafka' does not match pattern",
    "kafka.bootstrapServers=": "at '/kafka/bootstrapServers': '' does not match pattern",
    "kafka.securityProtocol=TLS": "value must be one of 'PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL'",
    "kafka.sasl.password=x": "at '/kafka/sasl': additional properties 'password' not allowed",
    "kafka.securityProtocol=SASL_SSL kafka.sasl.secret=user": "kafka.sasl.mechanism is needed",
    "kafka.securityProtocol=SASL_SSL kafka.sasl.mechanism=PLAIN": "sasl.secret is needed with kafka.securityProtocol=SASL_SSL",
    "kafka.sasl.mechanism=PLAIN": "kafka.sasl is set and kafka.securityProtocol=PLAINTEXT has no login",
    "kafka.tls.ca.secret=ca": "kafka.tls is set and kafka.securityProtocol=PLAINTEXT has no TLS",
    "topics.partitions=0": "at '/topics/partitions': minimum: got 0, want 1",
    "topics.replication=0": "at '/topics/replication'",
    "catalog.source=s3": "value must be one of 'topic', 'volume', 'init'",
    "catalog.source=init": "catalog.init.image and catalog.init.command are needed",
    "catalog.snapshots.schedule=daily": "at '/catalog/snapshots/schedule': 'daily' does not match pattern",
    "catalog.snapshots.keep=1": "at '/catalog/snapshots/keep': minimum: got 1, want 2",
    "catalog.source=volume workers.linker.gpu.count=1":
        "vectors made on a GPU are fp16 and on a CPU fp32, and the linker would refuse the snapshot",
    "engine.kind=solr": "at '/engine/kind': value must be one of 'native', 'opensearch'",
    "engine.kind=opensearch": "engine.urls is needed with engine.kind=opensearch: the nodes of your search engine",
    "engine.urls={https://search:9200}": "is set and engine.kind=native uses no search engine: set engine.kind=opensearch",
    "engine.auth.secret=user": "is set and engine.kind=native uses no search engine",
    "engine.urls={search:9200}": "at '/engine/urls/0': 'search:9200' does not match pattern",
    "engine.urls={https://search}": "at '/engine/urls/0': 'https://search' does not match pattern",
    "engine.urls={https://user:word@search:9200}": "at '/engine/urls/0'",
    "engine.index=Works": "at '/engine/index': 'Works' does not match pattern",
    "engine.shards=0": "at '/engine/shards': minimum: got 0, want 1",
    "engine.hits=1001": "at '/engine/hits': maximum: got 1,001, want 1,000",
    "engine.auth.password=x": "at '/engine/auth': additional properties 'password' not allowed",
    f"{ENGINE} engine.tls.ca.secret=ca engine.tls.ca.configMap=ca": "the CA certificates come from one of them",
    f"{ENGINE.replace('https', 'http')} engine.tls.ca.secret=ca": "no URL of engine.urls begins with https",
    f"{ENGINE} settings.REFLINK_PROFILE=paper": "REFLINK_PROFILE=paper needs engine.kind=native: the method as published",
    f"{ENGINE} workers.linker.settings.REFLINK_PROFILE=paper": "a search engine has none (workers.linker)",
    f"{ENGINE} workers.linker.gpu.count=1": "a linker with a search engine computes no vectors and uses no GPU",
    f"{ENGINE} workers.fallback.gpu.count=1": "a fallback with a search engine has no trigrams and uses no GPU",
    f"{ENGINE} workers.linker.withFallback=true": "linker and fallback with a search engine have no GPU to share",
    "workers.parser.withFallback=true": "workers.parser.withFallback: only a linker shares its process with a fallback",
    f"{ENGINE} catalog.source=volume catalog.snapshots.gpu.count=1": "a snapshot for a search engine has no vectors",
    "settings.REFLINK_ENGINE=opensearch": "at '/settings': additional properties 'REFLINK_ENGINE' not allowed",
    "image.pullPolicy=always": "value must be one of 'Always', 'IfNotPresent', 'Never'",
    "image.digest=sha256:1": "at '/image/digest'",
    f"image.digest=sha256:{'a' * 64} workers.linker.gpu.count=1": "pods with a GPU need another",
    "networkPolicy.kafkaPorts={0}": "at '/networkPolicy/kafkaPorts/0'",
    "monitoring.podMonitor.interval=15": "at '/monitoring/podMonitor/interval'",
    "tolerations={}": "additional properties 'tolerations' not allowed",
}  # fmt: skip


@pytest.mark.parametrize(("values", "words"), REFUSED.items())
def test_helm_refuses_an_invalid_value(values, words):
    done = helm("template", "main", *choice((), tuple(values.split(" "))))
    assert done.returncode != 0
    assert words in done.stderr


@pytest.mark.parametrize(("arguments", "words"), [
    (("--kube-version", KUBERNETES), "at '/kafka/bootstrapServers'"),
    (("--kube-version", "1.26.0", "--set", "kafka.bootstrapServers=kafka:9092"), "chart requires kubeVersion"),
])  # fmt: skip
def test_helm_refuses_missing_brokers_and_an_old_kubernetes(arguments, words):
    done = helm("template", "main", str(CHART), *arguments)
    assert done.returncode != 0
    assert words in done.stderr


@pytest.mark.parametrize("install", INSTALLS)
def test_helm_lint_accepts_an_install(install):
    done = helm("lint", "--strict", *choice(*INSTALLS[install]))
    assert done.returncode == 0, done.stdout
