#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the user of the units and its directory. An upgrade restarts what runs; nothing is
# started that did not run.
set -e
if ! getent passwd vigil >/dev/null 2>&1; then
  useradd --system --user-group --no-create-home --home-dir /var/lib/vigil --shell /usr/sbin/nologin vigil
fi
mkdir -p /var/lib/vigil
chown vigil:vigil /var/lib/vigil
chmod 0700 /var/lib/vigil
chown root:vigil /etc/vigil/vigil.env
chmod 0640 /etc/vigil/vigil.env
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart 'vigil.service' 'vigil-api.service' 'vigil-control.service' 'vigil-worker@*.service' || true
fi
