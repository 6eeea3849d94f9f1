#!/usr/bin/env bash
# Repeatedly kills `everstep run` with SIGKILL while it executes plans whose steps leave a trace
# outside, and restarts it each time. Checks that every attempt was made, that no step ran again
# after the log reported it complete, and that every run ends as its plan says.
# usage: run_kill.sh [PROGRAM [KILLS [SEED]]]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${1:-${EVERSTEP:-$here/../../build/release/everstep}}")
work=$(mktemp -d)
trap '[[ $BASHPID != "$$" ]] || rm -rf "$work"' EXIT

/usr/bin/python3 "$here/run_kill.py" "$program" "$work" "${2:-100}" "${3:-20261116}"
