#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stops the units when the package goes, and not when a newer one replaces it: Debian says
# "upgrade" then, Red Hat 1. The user and /var/lib/vigil stay: they are your data.
set -e
case ${1:-} in
upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
  systemctl disable --now vigil.service vigil-api.service vigil-control.service 'vigil-worker@*.service' || true
fi
