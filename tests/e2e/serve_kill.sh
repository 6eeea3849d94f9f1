#!/usr/bin/env bash
# Repeatedly kills `everstep serve` with SIGKILL while clients append events, start runs and execute
# their tasks over HTTP, and restarts it each time. Checks from outside that everything acknowledged
# exists exactly once and that every run ends. Then serves under load and checks that memory stays
# flat.
# usage: serve_kill.sh [PROGRAM [KILLS [SOAK_SECONDS [SEED]]]]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${1:-${EVERSTEP:-$here/../../build/release/everstep}}")
work=$(mktemp -d)
trap '[[ $BASHPID != "$$" ]] || rm -rf "$work"' EXIT

/usr/bin/python3 "$here/serve_kill.py" "$program" "$work" "${2:-15}" "${3:-20}" "${4:-20261116}"
