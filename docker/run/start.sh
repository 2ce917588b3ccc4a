#!/bin/sh
# Lays out the compiled kernels for this processor, then becomes reflink-worker.
#
# numba wants a cache that it can write to, and the image is read-only: links in /tmp to the image's files are enough. With
# NUMBA_CACHE_DIR or NUMBA_CPU_NAME set by the operator, nothing is done.
set -eu
# shellcheck source=docker/steps/levels.sh
. /opt/reflink/run/levels.sh

lay_out() {
    for level in x86-64-v4 x86-64-v3; do
        if [ -d "/opt/reflink/kernels/$level" ] && has_level "$level"; then
            NUMBA_CACHE_DIR=/tmp/kernels/$level
            if [ ! -d "$NUMBA_CACHE_DIR" ]; then
                # Made beside its place and moved: a container that is started again may find the half of it.
                mkdir -p /tmp/kernels
                new=/tmp/kernels/.$level.$$
                cp -rs "/opt/reflink/kernels/$level" "$new"
                mv -T "$new" "$NUMBA_CACHE_DIR" 2>/dev/null || rm -rf "$new"
            fi
            # The cache goes by both names, so both are as they were at the build.
            export NUMBA_CACHE_DIR NUMBA_CPU_NAME="$level" NUMBA_CPU_FEATURES=
            return
        fi
    done
}

if [ -z "${NUMBA_CACHE_DIR:-}${NUMBA_CPU_NAME:-}" ]; then
    lay_out || echo "start.sh: /tmp cannot be written to: kernels are compiled at every start" >&2
fi
exec reflink-worker "$@"
