#!/usr/bin/env bash
# A server from the outside: its start and stop, tokens, commands with --server, settings, doctor.
# Usage: serve.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
unset "${!EVERSTEP_@}" 2>/dev/null
export EVERSTEP_DATA=$work/data
# serve NAME ARGUMENT...: a server on a free port; leaves $child and $url.
serve() {
  local name=$1
  shift
  begin "$name" serve --listen 127.0.0.1:0 "$@"
  wait_for "says 'listening on ' $name.out || ! kill -0 $child 2>/dev/null"
  url=$(sed -n 's/^listening on //p' "$name.out" | head -n 1)
}
# stop NAME: SIGTERM; leaves $status and how long it took in $took (milliseconds).
stop() {
  local begun=$(date +%s%3N)
  kill -TERM "$child"
  finish "$1"
  took=$(($(date +%s%3N) - begun))
}

cat >greet.yaml <<'YAML'
metadata: {planId: greet, planVersion: "1.0"}
inputs:
  name: {type: string, default: you}
steps:
  - {stepId: hello, kind: echo, inputs: {message: "hello {{ inputs.name }}"}}
outputs: {said: "{{ steps.hello.result.message }}"}
YAML
cat >asks.yaml <<'YAML'
metadata: {planId: asks, planVersion: "1.0"}
steps:
  - {stepId: ask, waitFor: {approval: {prompt: "go on?"}}}
  - {stepId: then, kind: noop}
YAML
cat >naps.yaml <<'YAML'
metadata: {planId: naps, planVersion: "1.0"}
steps:
  - {stepId: nap, waitFor: {duration: 1500ms}}
  - {stepId: after, kind: echo, inputs: {message: up}}
YAML
cat >parent.yaml <<'YAML'
metadata: {planId: parent, planVersion: "1.0"}
steps:
  - {stepId: child, plan: greet.yaml}
YAML

# ---- the first start
serve first
expect "a server says where it listens" '[[ $url == http://127.0.0.1:* ]]'
expect "and where the first admin's token is" 'says "admin-token" first.out && [[ -s data/admin-token ]]'
expect "which only its user can read" '[[ $(stat -c %a data/admin-token) == 600 ]]'
export EVERSTEP_SERVER=$url
run ls
expect "without a token nothing is told" '((status == 1)) && says "Authorization" err'
EVERSTEP_TOKEN=est_wrong run ls
expect "nor with a wrong one" '((status == 1)) && says "not valid" err && ! says est_wrong err'
run ls --token-file data/admin-token
expect "with a token runs are listed" '((status == 0)) && says "0 runs"'
run ls --token-file nowhere
expect "a token file that is not there is named" '((status == 2)) && says nowhere err'
export EVERSTEP_TOKEN_FILE=$work/data/admin-token
run ls --data data --server "$url"
expect "a folder and a server contradict each other" '((status == 2)) && says contradict err'
run ls --tenant other
expect "the tenant comes from the token" '((status == 2)) && says "what the token says" err'

# ---- runs through the server
run run greet.yaml --input name=Ada --run-id ada
expect "a plan runs on the server to its end" '((status == 0)) && says "ada is COMPLETED" && says "hello Ada"'
run run greet.yaml --input name=Ada --run-id ada
expect "running it again shows that it has ended" '((status == 0)) && says "had ended before"'
run start greet.yaml --input name=Bea
run_id=$(cat out)
expect "start prints the run's id" '((status == 0)) && lines 1 && [[ -n $run_id ]]'
wait_for '"$everstep" show "$run_id" >out 2>err && says COMPLETED'
run show "$run_id"
expect "and show its end" '((status == 0)) && says COMPLETED && says "hello Bea"'
run events "$run_id" --until-end
expect "events are printed in order" '((status == 0)) && says RunStarted && says RunCompleted'
run timeline "$run_id"
expect "a timeline is drawn" '((status == 0)) && says hello'
run replay "$run_id" --to 1
expect "a run is shown as it was" '((status == 0)) && says "Up to here"'
run ls --output json
expect "runs are listed as JSON" '((status == 0)) && says "\"runId\": \"ada\""'
run start asks.yaml --run-id asks
expect "start takes an id" '((status == 0)) && [[ $(cat out) == asks ]]'
wait_for '"$everstep" why asks >out 2>err && says approval'
run why asks
expect "why says what a run waits for" '((status == 0)) && says approval'
run show asks
token=$(sed -n 's/.*everstep deliver \([^ ]*\).*/\1/p' out | head -n 1)
expect "show says how to answer" '[[ -n $token ]]'
run deliver "$token" --approve
expect "deliver answers" '((status == 0)) && says "delivered to asks"'
wait_for '"$everstep" show asks >out 2>err && says COMPLETED'
expect "and the run goes on" 'says COMPLETED'
run start asks.yaml --run-id asks-2
run signal asks-2 cancel --reason enough
expect "signals are decided by the server" '((status == 0)) && says "CANCEL of asks-2: ACCEPTED"'
run signal nobody cancel
expect "an unknown run is not found" '((status == 4))'
run run parent.yaml
expect "a plan beside the file is refused with a reason" '((status == 3)) && says "which a server does not see" err'
run start unknown-plan
expect "an unknown plan is not found" '((status == 4)) && says PLAN_NOT_FOUND err'
begin paused run asks.yaml --run-id asks-3
wait_for 'says "approval" paused.out || says ask paused.out'
kill -INT "$child"
finish paused
expect "Ctrl-C pauses a run on the server" '((status == 9)) && says "go on with:"'
child=${children[0]}

# ---- one owner
run serve --listen 127.0.0.1:0
expect "a second server on the folder is refused" '((status == 5)) && says "owns the store" err'
run serve --data other --dev --listen 0.0.0.0:0
expect "--dev is refused on other addresses" '((status == 2)) && says loopback err'
#NEXT-SECTION

# ---- stop and go on
run start naps.yaml --run-id naps
stop first
expect "SIGTERM stops a server" '((status == 0)) && says stopping'
expect "in bounded time" '((took < 10000))'
run ls
expect "a server that is not there is said so" '((status != 0)) && says SERVER_UNAVAILABLE err'
serve second
export EVERSTEP_SERVER=$url
expect "the next start makes no second admin's token" '! says admin-token second.out'
run events naps --until-end
expect "what was running goes on" '((status == 0)) && says RunCompleted'
stop second
exit $((failures > 0))
