"""A control plane on loopback: etcd, kube-apiserver, kube-controller-manager and kube-scheduler as local processes."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.campaigns.autoscaling.api import Api
from tests.campaigns.autoscaling.background import Background
from tests.campaigns.autoscaling.waiting import wait_for
from tests.programs import program
from tests.secure import Certificates
from workers.devkit.ports import free_port

#: Seconds; production's default is in brackets. Short, so that the loss of a node takes effect within a run of minutes.
NODE_GRACE_S: Final = 12  # (50)
TOLERATION_S: Final = 10  # (300)
#: Interval of the autoscaler in seconds (15).
HPA_SYNC_S: Final = 5
_USER: Final = "autoscaling"
_START_S: Final = 90.0


class ControlPlane:
    """Use as a context manager. All clients are one user with all rights, because the run does not test authorization."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = folder / "keys"
        self.keys.mkdir(parents=True)
        self.certificates = Certificates(self.keys)
        self.authority = self.certificates.cafile()
        self._token = secrets.token_hex(16)
        self.port = free_port()
        self.kubeconfig = folder / "kubeconfig.json"
        self.kubeconfig.write_text(json.dumps(self._kubeconfig()))
        self.api = Api(self.port, self.authority, self._token)
        self.programs: list[Background] = []

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def run(self, name: str, *arguments: str, log: str = "", environment: Mapping[str, str] | None = None) -> Background:
        """Start one more program of tests.programs."""
        started = Background(log or name, [program(name), *arguments], self.folder, environment)
        self.programs.append(started)
        return started

    def give_up(self, started: Background) -> None:
        """Kill a program; ``check`` does not report its end."""
        self.programs.remove(started)
        started.kill()

    def check(self) -> None:
        """Raise RunFailed if a program ended by itself."""
        for each in self.programs:
            each.check()

    def stop(self) -> None:
        """Kill all programs. Their data are temporary, so an orderly stop would save nothing."""
        for each in reversed(self.programs):
            each.kill()

    def _start(self) -> None:
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.run(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        )
        self.run("kube-apiserver", *self._apiserver(client))
        wait_for("kube-apiserver to be ready", self.api.well, _START_S, self.check)
        who = [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        self.run(
            "kube-controller-manager",
            *who,
            f"--service-account-private-key-file={self.keys / 'accounts.key'}",
            f"--root-ca-file={self.authority}",
            "--node-monitor-period=2s",
            f"--node-monitor-grace-period={NODE_GRACE_S}s",
            f"--horizontal-pod-autoscaler-sync-period={HPA_SYNC_S}s",
        )
        self.run("kube-scheduler", *who)

    def _apiserver(self, etcd: str) -> list[str]:
        certificate, key = self.certificates.issue("apiserver", "127.0.0.1", "localhost", "kubernetes.default.svc")
        accounts, accounts_key = self.certificates.issue("accounts")
        proxy, proxy_key = self.certificates.issue("front-proxy")
        tokens = self.keys / "tokens.csv"
        tokens.write_text(f'{self._token},{_USER},{_USER},"system:masters"\n')
        return [
            f"--etcd-servers={etcd}",
            # WatchList requires more than Debian's etcd 3.4 supports; without it clients list and watch in the old way.
            "--feature-gates=WatchList=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--client-ca-file={self.authority}",
            f"--token-auth-file={tokens}",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={accounts}",
            f"--service-account-signing-key-file={accounts_key}",
            # The apiserver's own address is loopback, which Kubernetes does not allow for endpoints.
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--requestheader-client-ca-file={self.authority}",
            "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={proxy}",
            f"--proxy-client-key-file={proxy_key}",
            f"--default-not-ready-toleration-seconds={TOLERATION_S}",
            f"--default-unreachable-toleration-seconds={TOLERATION_S}",
        ]

    def _kubeconfig(self) -> dict[str, object]:
        server = {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": str(self.authority)}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "run", "cluster": server}],
            "users": [{"name": _USER, "user": {"token": self._token}}],
            "contexts": [{"name": "run", "context": {"cluster": "run", "user": _USER}}],
            "current-context": "run",
        }
