#!/usr/bin/env bash
# What clients can consume of a server: memory, threads, connections, and the time it needs to stop.
# Usage: bounds.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

script=$(realpath "$(dirname "${BASH_SOURCE[0]}")")/bounds.py
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
unset "${!EVERSTEP_@}" 2>/dev/null

python3 -B "$script" "$everstep" "$work" >checked 2>err
status=$?
cat checked
cp checked out
expect "every check was made" '((status == 0)) && ! grep -q "^not ok" checked && says "ok - that is all" checked'

# ---- too little memory
(ulimit -v 150000; timeout 30 "$everstep" serve --data small --listen 127.0.0.1:0 >out 2>err </dev/null)
status=$?
expect "a server without enough memory or threads reports it" '((status == 14)) && says "out of " err && says ulimit err'

exit $((failures > 0))
