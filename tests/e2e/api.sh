#!/usr/bin/env bash
# The HTTP API of the real server: runs every example of schemas/openapi.json, then calls every
# operation with many kinds of invalid requests.
# Usage: api.sh [PROGRAM [REQUESTS [SEED]]]
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source_dir=${EVERSTEP_SOURCE_DIR:-$here/../..}
program=$(realpath "${1:-${EVERSTEP:?the path of the program}}")
export PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8
work=$(mktemp -d)
trap '[[ $BASHPID != "$$" ]] || rm -rf "$work"' EXIT

/usr/bin/python3 "$here/api_examples.py" "$program" "$work/examples" "$source_dir"
examples=$?
/usr/bin/python3 "$here/api_fuzz.py" "$program" "$work/fuzz" "$source_dir" "${2:-3000}" "${3:-20260211}"
fuzz=$?
exit $((examples != 0 || fuzz != 0))
