#!/bin/sh
# Make Debian's base image without a registry: debootstrap makes the root file system, podman imports it as NAME. Needs root,
# debootstrap and podman. Removes the same files as Debian's slim image (manuals, translations).
#
#   base.sh NAME MIRROR
set -eu
name=$1 mirror=$2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || { tail -5 "$root.log" >&2; exit 1; }
rm -rf "$root.log" "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/man/* \
    "$root"/usr/share/locale/*
tar -C "$root" --create . | podman import --change 'CMD ["bash"]' \
    --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' - "$name"
