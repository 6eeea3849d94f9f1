#!/usr/bin/env bash
# Workflow DevKit on the real server: each rule of a World with three generations of the DevKit, and
# the DevKit's own conformance suite.
# Usage: devkit.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/checks.bash"
source "$here/devkit/package.bash"
# The suite's application looks for the package next to itself.
install_package "$suite_modules"
make_app stable "$stable_modules"
make_app next "$next_modules"
make_app app "$suite_modules"
cd app || exit 1

begin server serve --data "$work/data" --listen 127.0.0.1:0
server=$child
wait_for 'says "listening on" server.out'
EVERSTEP_URL=$(sed -n 's/^listening on //p' server.out)
export EVERSTEP_URL EVERSTEP_TOKEN_FILE=$work/data/admin-token

# tell FILE [NOTE]: prints each test's name on its own line, like the other scripts.
tell() { sed -n "/# SKIP/d; s/^ok [0-9]* - \(.*\)/ok - \1${2:+ ($2)}/p; s/^not ok [0-9]* - \(.*\)/not ok - \1${2:+ ($2)}/p" "$1"; }

# ---- the package by itself, and each rule with each generation of the DevKit
# rules FOLDER NAME SPEC
rules() {
  cd "$work/$1" || exit 1
  node "$suite_modules/typescript/bin/tsc" --noEmit --strict --skipLibCheck --target es2022 --module nodenext \
    --lib es2023,dom --types '' fits.ts >out 2>err
  status=$?
  expect "the package's world has the type World ($2)" '((status == 0))'
  EXPECTED_SPEC=$3 timeout 120 node --test --test-reporter=tap package.test.mjs rules.test.mjs >rules.tap 2>rules.err
  status=$?
  tell rules.tap "$2"
  ((status == 0)) || { failures=$((failures + 1)); sed 's/^/# /' rules.tap | head -n 80; }
}
rules stable 4.x 3
rules next "newest beta" 7
rules app "beta of the suite" 5
# The benchmark's upper bound is valid only if it keeps the rules. It repeats no requests, has no
# limits, and none of its data outlives a run or is visible to another world.
WORLD_MODULE=$source_dir/bench/devkit/memory_world.mjs timeout 60 node --test --test-reporter=tap \
  --test-skip-pattern='a repeated request|megabytes|resumeId|retention|payloads would be removed|concurrent attribute changes' rules.test.mjs >memory.tap 2>err
status=$?
cp memory.tap out
expect "the in-memory world of the benchmark keeps the rules" '((status == 0)) && (($(grep -c "^ok" memory.tap) == 39))'

# ---- the suite
timeout 240 node node_modules/vitest/vitest.mjs run --reporter=tap-flat >suite.tap 2>suite.err
status=$?
tell suite.tap
((status == 0)) || { failures=$((failures + 1)); sed 's/^/# /' suite.tap suite.err | head -n 80; }
cp suite.tap out
expect "the suite has its twelve tests" '(($(grep -c "^ok" suite.tap) == 12))'

# ---- the suite again, while the server is killed and restarted repeatedly. Tests that count
# deliveries are left out: a delivery that was in flight when the server died is repeated.
echo "$server" >server.pid
port=${EVERSTEP_URL##*:}
(
  while [[ ! -e enough ]]; do
    sleep 0.8
    kill -9 "$(<server.pid)"
    "$everstep" serve --data "$work/data" --listen "127.0.0.1:$port" >server.out 2>server.err </dev/null &
    echo $! >server.pid
  done
) 2>/dev/null &
killer=$!
timeout 240 node node_modules/vitest/vitest.mjs run --reporter=tap-flat -t '^(?!.*flow invocation).*$' >killed.tap 2>killed.err
status=$?
touch enough
wait "$killer"
server=$(<server.pid)
children+=("$server")
wait_for 'says "listening on" server.out'
cp killed.tap out
expect "the suite passes while the server is killed again and again" \
  '((status == 0)) && (($(grep "^ok" killed.tap | grep -vc SKIP) >= 7))'

# ---- an application's run is a run like any other
run_id=$("$everstep" ls --server "$EVERSTEP_URL" --status COMPLETED --output json 2>err |
  sed -n 's/.*"runId": *"\(wrun_[^"]*\)".*/\1/p' | head -n 1)
run show "$run_id" --server "$EVERSTEP_URL"
expect "show prints an application's run" '((status == 0)) && says COMPLETED'
run events "$run_id" --server "$EVERSTEP_URL" --dialect devkit
expect "its log reads in its own dialect" '((status == 0)) && says run_created && says run_completed'
run timeline "$run_id" --server "$EVERSTEP_URL"
expect "timeline draws it" '((status == 0))'
run why "$run_id" --server "$EVERSTEP_URL"
expect "why reports that it has ended" '((status == 0)) && says COMPLETED'

# ---- a stream under /v1, followed while it grows
authorization="Authorization: Bearer $(<"$EVERSTEP_TOKEN_FILE")"
stream=$EVERSTEP_URL/v1/runs/$run_id/streams/progress
curl -sN -m 20 -H "$authorization" -H 'Accept: text/event-stream' "$stream" >out 2>err &
follower=$!
sleep 0.3
curl -s -H "$authorization" "$stream" --data-binary one >first.json
wait_for 'says "data: b25l"'
curl -s -H "$authorization" "$stream?close=true" --data-binary two >second.json
wait "$follower"
status=$?
expect "a stream is followed while it grows, to its end" \
  '((status == 0)) && says "data: b25l" && says "data: dHdv" && says "event: end"'

# ---- pause and resume
node pause.mjs "$everstep" >out 2>err
status=$?
cat out
((status == 0)) || failures=$((failures + 1))

kill -9 "$server"
unset EVERSTEP_URL EVERSTEP_TOKEN_FILE
wait_for '! kill -0 "$server" 2>/dev/null'
run log verify --store "$work/data/store"
expect "the store has no faults afterwards" '((status == 0))'

# ---- from outside: hooks, sinks, retention, on their own server
mkdir "$work/outside"
timeout 120 node outside.mjs "$everstep" "$work/outside"
status=$?
((status == 0)) || failures=$((failures + 1))

exit $((failures > 0))
