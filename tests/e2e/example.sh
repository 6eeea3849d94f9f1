#!/usr/bin/env bash
# Checks that the example of the embedded log works as described. Usage: example.sh [PROGRAM]
set -uo pipefail

program=${1:-${EVERSTEP_BUILD_DIR:?the build directory}/example-embed}
work=$(mktemp -d)
trap '[[ $BASHPID != "$$" ]] || rm -rf "$work"' EXIT
failures=0

expect() {
  if eval "$2"; then
    echo "ok - $1"
  else
    failures=$((failures + 1))
    echo "not ok - $1"
    sed 's/^/#   /' "$work/out"
  fi
}

"$program" "$work/store" >"$work/out" 2>&1
status=$?
expect "the example exits with 0" '((status == 0))'
expect "it appends four events" '(($(grep -c "is event [1-4]$" "$work/out") == 4))'
expect "it reads them in devkit words" 'grep -q "\"eventType\":\"step_completed\"" "$work/out"'
expect "it sees the event appended after it subscribed" \
  'grep -q "\"eventType\":\"HookReceived\".*\"runSeq\":5" "$work/out"'
expect "it knows the state" 'grep -q "invoice-7 is RUNNING: 1 of 1 steps done, open hooks: 1" "$work/out"'
"$program" "$work/store" >"$work/out" 2>&1
status=$?
expect "running it again appends nothing twice" \
  '((status == 0)) && (($(grep -c "(a duplicate)" "$work/out") == 4))'
exit $((failures > 0))
