#!/bin/sh
# Remove pip from the virtual environment and compile the rest: nothing can be written at run time.
set -eu
/opt/reflink/bin/pip uninstall --quiet --yes pip
# Some packages contain templates and files for other Python versions, which do not compile and are never imported.
/opt/reflink/bin/python -m compileall -q -j 0 /opt/reflink >/dev/null || true
