#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stops the agent when the package goes, and not when a newer one replaces it: Debian says
# "upgrade" then, Red Hat 1. The user, the token and /var/lib/vigil-agent stay: they are your data.
set -e
case ${1:-} in
upgrade | 1) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
  systemctl disable --now vigil-agent.service || true
fi
