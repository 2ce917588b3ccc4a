#!/bin/sh
# Build a wheel of the checkout and install it into /opt/project, whose files are copied over /opt/reflink. The packages of the
# extra build are in /opt/reflink.
#
#   project.sh SOURCE
set -eu
source=$1
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore

# setuptools writes beside the sources, which may be mounted read-only: use a copy.
cp -R "$source" /tmp/source
/opt/reflink/bin/pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /tmp/wheel /tmp/source
/opt/reflink/bin/pip install --no-index --no-deps --no-compile --prefix /opt/project /tmp/wheel/*.whl
rm -rf /tmp/source /tmp/wheel
cp -R /opt/project/. /opt/reflink/
