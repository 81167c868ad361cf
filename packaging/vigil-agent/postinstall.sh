#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the user of the unit, its directory, and an empty file for the token. An upgrade restarts
# the agent when it runs; nothing is started that did not run.
set -e
if ! getent passwd vigil-agent >/dev/null 2>&1; then
  useradd --system --user-group --no-create-home --home-dir /var/lib/vigil-agent --shell /usr/sbin/nologin vigil-agent
fi
mkdir -p /var/lib/vigil-agent
chown vigil-agent:vigil-agent /var/lib/vigil-agent
chmod 0700 /var/lib/vigil-agent
if [ ! -e /etc/vigil-agent/token ]; then (umask 0137 && : >/etc/vigil-agent/token); fi
chown root:vigil-agent /etc/vigil-agent/agent.env /etc/vigil-agent/token
chmod 0640 /etc/vigil-agent/agent.env /etc/vigil-agent/token
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart vigil-agent.service || true
fi
