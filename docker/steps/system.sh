#!/bin/sh
# Debian's packages, and nothing of apt afterwards. Names are arguments.
#
# Versions are those of the base's Debian release, where only mistakes and holes are mended: a pinned one would be gone from
# the mirror after the next repair. For the same bytes every time, BASE names the base by its digest.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install --yes --no-install-recommends "$@"
apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/apt /var/log/dpkg.log /var/log/alternatives.log \
    /var/cache/ldconfig/aux-cache
