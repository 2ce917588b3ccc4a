#!/bin/sh
# Install Debian packages (the arguments) and delete the files of apt.
#
# Versions are not pinned: a Debian release only gets fixes, and a mirror deletes a version after the next fix. For a
# reproducible base, set BASE to an image digest.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install --yes --no-install-recommends "$@"
apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old /var/log/apt /var/log/dpkg.log /var/log/alternatives.log \
    /var/cache/ldconfig/aux-cache
