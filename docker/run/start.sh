#!/bin/sh
# Select the compiled kernels for this processor, then run reflink-worker.
#
# numba requires a writable cache, and the image is read-only: links in /tmp to the files of the image suffice. If the operator
# sets NUMBA_CACHE_DIR or NUMBA_CPU_NAME, the script changes nothing.
set -eu
# shellcheck source=docker/steps/levels.sh
. /opt/reflink/run/levels.sh

lay_out() {
    for level in x86-64-v4 x86-64-v3; do
        if [ -d "/opt/reflink/kernels/$level" ] && has_level "$level"; then
            NUMBA_CACHE_DIR=/tmp/kernels/$level
            if [ ! -d "$NUMBA_CACHE_DIR" ]; then
                # Copy to another name and move: a restarted container would otherwise find an incomplete copy.
                mkdir -p /tmp/kernels
                new=/tmp/kernels/.$level.$$
                cp -rs "/opt/reflink/kernels/$level" "$new"
                mv -T "$new" "$NUMBA_CACHE_DIR" 2>/dev/null || rm -rf "$new"
            fi
            # The cache key contains both variables, so both must have their values of the build.
            export NUMBA_CACHE_DIR NUMBA_CPU_NAME="$level" NUMBA_CPU_FEATURES=
            return
        fi
    done
}

if [ -z "${NUMBA_CACHE_DIR:-}${NUMBA_CPU_NAME:-}" ]; then
    lay_out || echo "start.sh: /tmp cannot be written to: kernels are compiled at every start" >&2
fi
exec reflink-worker "$@"
