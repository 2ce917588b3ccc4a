#!/bin/sh
# Compile the kernels for every processor level that this processor supports, into /opt/kernels/LEVEL.
#
#   kernels.sh EXAMPLES [LEVEL...]
#
# Without them each process compiles for half a minute at its first start, and at every start if no file is kept.
set -eu
here=$(dirname "$0") examples=$1
shift
# shellcheck source=docker/steps/levels.sh
. "$here/levels.sh"
mkdir -p /opt/kernels
made=
for level in "$@"; do
    if ! has_level "$level"; then
        echo "kernels.sh: this processor is not of level $level: left out, processors of that level take the next one" >&2
        continue
    fi
    NUMBA_CPU_NAME=$level NUMBA_CPU_FEATURES='' NUMBA_CACHE_DIR=/opt/kernels/$level \
        /opt/reflink/bin/python -B "$here/kernels.py" "$examples"
    made="$made $level"
done
if [ -z "$made" ]; then
    echo "kernels.sh: none were made: workers compile them at every start" >&2
fi
