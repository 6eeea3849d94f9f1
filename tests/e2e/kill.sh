#!/usr/bin/env bash
# Repeatedly kills the real program with SIGKILL while it appends to one store under load, and
# checks that nothing it acknowledged is lost, moved or duplicated.
# usage: kill.sh [PROGRAM [ROUNDS [SEED]]]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
program=${1:-${EVERSTEP:-$here/../../build/release/everstep}}
work=$(mktemp -d)
trap '[[ $BASHPID != "$$" ]] || rm -rf "$work"' EXIT

/usr/bin/python3 "$here/kill_rounds.py" "$program" "$work/store" "${2:-50}" "${3:-20260211}"
