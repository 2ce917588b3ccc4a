#!/bin/sh
# The checkout as an installed wheel, in a folder of its own: /opt/project has what is laid over /opt/reflink.
#
#   project.sh SOURCE
set -eu
source=$1
if [ -e /run/secrets/pip ]; then
    export PIP_CONFIG_FILE=/run/secrets/pip
fi
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore

# A copy: setuptools writes beside the sources, which may be mounted read-only.
cp -R "$source" /tmp/source
/opt/reflink/bin/pip wheel --no-deps --wheel-dir /tmp/wheel /tmp/source
/opt/reflink/bin/pip install --no-deps --no-compile --prefix /opt/project /tmp/wheel/*.whl
rm -rf /tmp/source /tmp/wheel
cp -R /opt/project/. /opt/reflink/
