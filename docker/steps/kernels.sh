#!/bin/sh
# The compiled kernels, for every level of processors that this one is of, into /opt/kernels/LEVEL.
#
#   kernels.sh EXAMPLES [LEVEL...]
#
# Each process would else compile them at its first start, for half a minute, and again at each start where nothing is kept.
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
