#!/usr/bin/env bash
# Usage: need.sh PROGRAM...  Sees to it that each is on PATH, by Debian's package of the same name where it may install one.
# Exit code 1: some are missing, and which.
set -euo pipefail

missing=()
for program in "$@"; do
  command -v "$program" >/dev/null || missing+=("$program")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo "installing from Debian: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
  echo "MISSING: ${missing[*]}, and only root on Debian may install it here: what needs it is not checked" >&2
  exit 1
fi
