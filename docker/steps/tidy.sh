#!/bin/sh
# pip is left out of the virtual environment, and what is left is compiled: at run time nothing can be written.
set -eu
/opt/reflink/bin/pip uninstall --quiet --yes pip
# Some packages bring templates and files of other Python versions, which do not compile and are not imported.
/opt/reflink/bin/python -m compileall -q -j 0 /opt/reflink >/dev/null || true
