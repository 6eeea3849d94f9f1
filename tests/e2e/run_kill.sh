#!/usr/bin/env bash
# Kills `everstep run` with SIGKILL, again and again, while it executes plans whose steps leave a
# trace outside, starts it again each time, and checks that every attempt was made, that no step ran
# again after the log said it was complete, and that every run ends as its plan says.
# usage: run_kill.sh [PROGRAM [KILLS [SEED]]]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${1:-${EVERSTEP:-$here/../../build/release/everstep}}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

/usr/bin/python3 "$here/run_kill.py" "$program" "$work" "${2:-100}" "${3:-20261116}"
