#!/bin/sh
# Runs before removal and before an upgrade: "remove" from dpkg, 0 from rpm when no version stays.
set -e
[ -d /run/systemd/system ] || exit 0
case "$1" in
remove | 0) systemctl disable --now gavel.service ;;
esac
