#!/bin/sh
# Create the user of the workers, and the folders for mounts: nothing else is writable.
set -eu
groupadd --gid 10001 reflink
useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin reflink
mkdir -p /var/lib/reflink/state /var/lib/reflink/catalogs /var/lib/reflink/model
chown -R 10001:10001 /var/lib/reflink
rm -rf /build /var/log/lastlog /var/log/faillog
