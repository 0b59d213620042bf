#!/bin/sh
# Runs after installation and upgrade: "configure" from dpkg, the number of installed versions from rpm. A first
# installation enables and starts the node; an upgrade restarts it when it runs.
set -e
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
if [ "$1" = 1 ] || { [ "$1" = configure ] && [ -z "$2" ]; }; then
	systemctl enable --now gavel.service
else
	systemctl try-restart gavel.service
fi
