"""Programs that the tests and ``make autoscaling`` run and that pip does not bring: Go's are built, Debian's are unpacked.

python -m tests.programs helm kubeconform      # build what is missing, print where it is

Versions are pinned here. Everything lands in ``.cache/programs``; Go keeps its own cache, so that a second checkout builds in
seconds. Needs Go >= 1.24, and for Debian's a PATH that has them or ``apt-get`` (no root: packages are only unpacked).
"""

from __future__ import annotations

from typing import Final

from tests.programs.debian import unpacked
from tests.programs.golang import Command, built

#: What each program is built from.
GO: Final[dict[str, Command]] = {
    "helm": Command("helm.sh/helm/v3", "v3.19.0", "cmd/helm"),
    "kubeconform": Command("github.com/yannh/kubeconform", "v0.7.0", "cmd/kubeconform"),
    "kwok": Command("sigs.k8s.io/kwok", "v0.7.0", "cmd/kwok"),
    **{
        # Its staging modules carry no version in its go.mod; published, they are v0 of the same minor and patch.
        name: Command("k8s.io/kubernetes", "v1.34.2", f"cmd/{name}", "v0.34.2", "k8s.io/component-base/version.gitVersion")
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    },
    # Its go.mod replaces modules, which `go install` refuses: built from its own folder.
    "keda-operator": Command("github.com/kedacore/keda/v2", "v2.18.1", "cmd/operator", in_place=True),
    "keda-adapter": Command("github.com/kedacore/keda/v2", "v2.18.1", "cmd/adapter", in_place=True),
}
#: Debian's package of each program.
DEBIAN: Final = {"prometheus": "prometheus", "promtool": "prometheus", "etcd": "etcd-server"}
NAMES: Final = (*GO, *DEBIAN)


def program(name: str) -> str:
    """The path of a program, built or unpacked at need. Raises ProgramMissing, which says what is needed; KeyError."""
    return str(built(name, GO[name]) if name in GO else unpacked(name, DEBIAN[name]))
