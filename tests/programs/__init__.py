"""Programs that the tests and ``make autoscaling`` need and pip does not install: built with Go, or from Debian's packages.

python -m tests.programs helm kubeconform      # builds missing programs, prints the paths

Versions are pinned here. Programs are stored in ``.cache/programs``; Go has its own cache, so that a second checkout builds in
seconds. Needs Go >= 1.24, and Debian's programs on the PATH or ``apt-get`` (without root: packages are only unpacked).
"""

from __future__ import annotations

from typing import Final

from tests.programs.debian import unpacked
from tests.programs.golang import Command, built

#: The Go command of each program.
GO: Final[dict[str, Command]] = {
    "helm": Command("helm.sh/helm/v3", "v3.19.0", "cmd/helm"),
    "kubeconform": Command("github.com/yannh/kubeconform", "v0.7.0", "cmd/kubeconform"),
    "kwok": Command("sigs.k8s.io/kwok", "v0.7.0", "cmd/kwok"),
    **{
        # Its go.mod has no versions of its staging modules; their releases are v0 with the same minor and patch.
        name: Command("k8s.io/kubernetes", "v1.34.2", f"cmd/{name}", "v0.34.2", "k8s.io/component-base/version.gitVersion")
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    },
    # `go install` refuses modules whose go.mod replaces others, so these are built in a copy of their folder.
    "keda-operator": Command("github.com/kedacore/keda/v2", "v2.18.1", "cmd/operator", in_place=True),
    "keda-adapter": Command("github.com/kedacore/keda/v2", "v2.18.1", "cmd/adapter", in_place=True),
}
#: Debian's package of each program.
DEBIAN: Final = {"prometheus": "prometheus", "promtool": "prometheus", "etcd": "etcd-server"}
NAMES: Final = (*GO, *DEBIAN)


def program(name: str) -> str:
    """Return the path of a program, after building or unpacking it if necessary. Raises ProgramMissing, KeyError."""
    return str(built(name, GO[name]) if name in GO else unpacked(name, DEBIAN[name]))
