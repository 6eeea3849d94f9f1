#!/usr/bin/env bash
# Kills `everstep serve` with SIGKILL, again and again, while clients append events, start runs and do
# their tasks over HTTP, starts it again each time, and checks from outside that whatever was
# acknowledged is there exactly once and that every run ends. Then serves under load and checks that
# memory stays flat.
# usage: serve_kill.sh [PROGRAM [KILLS [SOAK_SECONDS [SEED]]]]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${1:-${EVERSTEP:-$here/../../build/release/everstep}}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

/usr/bin/python3 "$here/serve_kill.py" "$program" "$work" "${2:-15}" "${3:-20}" "${4:-20261116}"
