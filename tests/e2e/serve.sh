#!/usr/bin/env bash
# A server from the outside: starting and stopping, tokens, commands with --server, settings,
# doctor.
# Usage: serve.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

zsh_tab=$(realpath "$(dirname "${BASH_SOURCE[0]}")")/zsh_tab.zsh
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
unset "${!EVERSTEP_@}" 2>/dev/null
export EVERSTEP_DATA=$work/data
# serve NAME ARGUMENT...: starts a server on a free port; sets $child and $url.
serve() {
  local name=$1
  shift
  begin "$name" serve --listen 127.0.0.1:0 "$@"
  wait_for "says 'listening on ' $name.out || ! kill -0 $child 2>/dev/null"
  url=$(sed -n 's/^listening on //p' "$name.out" | head -n 1)
}
# stop NAME: sends SIGTERM; sets $status, and $took to the milliseconds until it ended.
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
expect "a server prints where it listens" '[[ $url == http://127.0.0.1:* ]]'
expect "a server prints where the first admin's token is" 'says "admin-token" first.out && [[ -s data/admin-token ]]'
first_token=$(<data/admin-token)
expect "only its user can read the admin's token" '[[ $(stat -c %a data/admin-token) == 600 ]]'
export EVERSTEP_SERVER=$url
run ls
expect "calls without a token are refused" '((status == 11)) && says "Authorization" err'
EVERSTEP_TOKEN=est_wrong run ls
expect "calls with a wrong token are refused" '((status == 11)) && says "not valid" err && says "help UNAUTHENTICATED" err && ! says est_wrong err'
run ls --token-file data/admin-token
expect "with a token runs are listed" '((status == 0)) && says "0 runs"'
run ls --token-file nowhere
expect "a missing token file is named" '((status == 2)) && says nowhere err'
export EVERSTEP_TOKEN_FILE=$work/data/admin-token
run ls --data data --server "$url"
expect "--data and --server contradict each other" '((status == 2)) && says contradict err'
run ls --tenant other
expect "the tenant comes from the token" '((status == 2)) && says "is determined by the token" err'

# ---- runs through the server
run run greet.yaml --input name=Ada --run-id ada
expect "a plan runs on the server to its end" '((status == 0)) && says "ada is COMPLETED" && says "hello Ada"'
run run greet.yaml --input name=Ada --run-id ada
expect "running it again shows that it has ended" '((status == 0)) && says "had already ended"'
run start greet.yaml --input name=Bea
run_id=$(cat out)
expect "start prints the run's id" '((status == 0)) && lines 1 && [[ -n $run_id ]]'
wait_for '"$everstep" show "$run_id" >out 2>err && says COMPLETED'
run show "$run_id"
expect "show prints its end" '((status == 0)) && says COMPLETED && says "hello Bea"'
run events "$run_id" --until-end
expect "events are printed in order" '((status == 0)) && says RunStarted && says RunCompleted'
run timeline "$run_id"
expect "a timeline is drawn" '((status == 0)) && says hello'
run replay "$run_id" --to 1
expect "replay shows an earlier state" '((status == 0)) && says "Up to here"'
run ls --output json
expect "runs are listed as JSON" '((status == 0)) && says "\"runId\": \"ada\""'
run start asks.yaml --run-id asks
expect "start accepts an id" '((status == 0)) && [[ $(cat out) == asks ]]'
wait_for '"$everstep" why asks >out 2>err && says approval'
run why asks
expect "why says what a run waits for" '((status == 0)) && says approval'
run show asks
token=$(sed -n 's/.*everstep deliver \([^ ]*\).*/\1/p' out | head -n 1)
expect "show says how to answer" '[[ -n $token ]]'
run deliver "$token" --approve
expect "deliver answers" '((status == 0)) && says "delivered to asks"'
wait_for '"$everstep" show asks >out 2>err && says COMPLETED'
expect "the run continues" 'says COMPLETED'
run start asks.yaml --run-id asks-2
run signal asks-2 cancel --reason enough
expect "signals are decided by the server" '((status == 0)) && says "CANCEL of asks-2: ACCEPTED"'
run signal nobody cancel
expect "an unknown run is not found" '((status == 4))'
run run parent.yaml
expect "a plan that references another plan file is refused with a reason" '((status == 3)) && says "a local file that the server cannot read" err'
run start unknown-plan
expect "an unknown plan is not found" '((status == 4)) && says PLAN_NOT_FOUND err'
begin paused run asks.yaml --run-id asks-3
wait_for 'says "approval" paused.out || says ask paused.out'
kill -INT "$child"
finish paused
expect "Ctrl-C pauses a run on the server" '((status == 9)) && says "continue with:"'
child=${children[0]}

# ---- one owner
run serve --listen 127.0.0.1:0
expect "a second server on the folder is refused" '((status == 5)) && says "owns the store" err'
run serve --data other --dev --listen 0.0.0.0:0
expect "--dev is refused on other addresses" '((status == 2)) && says loopback err'
run serve --data other --io-threads many
expect "an invalid flag value is named" '((status == 2)) && says "--io-threads takes a whole number" err'

# ---- tokens
run token create ci --role operator
token=$(cat out)
expect "a token is created and printed" '((status == 0)) && [[ $token == est_* ]] && ! says "$token" err'
EVERSTEP_TOKEN=$token EVERSTEP_TOKEN_FILE= run ls
expect "a new token works" '((status == 0))'
EVERSTEP_TOKEN=$token EVERSTEP_TOKEN_FILE= run token list
expect "a token does not allow what its role forbids" '((status == 11)) && says AUTHZ_DENIED err'
run token list
expect "tokens are listed without their secrets" '((status == 0)) && says ci && says operator && ! says "$token"'
id=$(awk '$2 == "ci" { print $1 }' out)
run token rotate "$id" --grace 0s
fresh=$(cat out)
EVERSTEP_TOKEN=$token EVERSTEP_TOKEN_FILE= run ls
expect "a rotated token's old secret stops working" '((status == 11)) && [[ $fresh == est_* && $fresh != "$token" ]]'
run token revoke "$id"
EVERSTEP_TOKEN=$fresh EVERSTEP_TOKEN_FILE= run ls
expect "a revoked token stops working" '((status == 11)) && says revoked err'
run token revoke nobody
expect "an unknown token is not found" '((status == 4)) && says "NOT_FOUND: there is no token nobody" err'
run sink show nobody
expect "an unknown sink is not found" '((status == 4)) && says SINK_NOT_FOUND err'
run dlq list nobody
expect "the dead letters of an unknown sink are not found" '((status == 4)) && says SINK_NOT_FOUND err'
run token create x --role emperor
expect "an unknown role is refused" '((status == 3)) && says "/roles/0" err'
EVERSTEP_SERVER= run token list
expect "changing tokens in a folder with a running server is refused" '((status == 5)) && says "--server" err'

# ---- doctor and audit while a server runs
EVERSTEP_SERVER= run doctor
expect "doctor finds no fault in an intact folder" '((status == 0)) && says "ok    audit" && says "has it open"'
expect "doctor reminds of the admin's token" 'says "warn  admin-token"'
run doctor
expect "doctor checks the server of the environment" '((status == 0)) && says "ok    server        $EVERSTEP_SERVER is ready"'
EVERSTEP_TOKEN=est_wrong run doctor
expect "doctor uses the token of the environment" '((status == 7)) && says UNAUTHENTICATED'
run audit verify
expect "the audit log verifies" '((status == 0)) && says "intact" && says "head: entry"'

# ---- stopping and restarting
run start naps.yaml --run-id naps
stop first
expect "SIGTERM stops a server" '((status == 0)) && says stopping'
expect "it stops in bounded time" '((took < 10000))'
run run greet.yaml
expect "a server that never answered is not waited for" '((status == 10)) && ! says waiting err'
run ls
expect "an unreachable server is reported" '((status == 10)) && says SERVER_UNAVAILABLE err'
serve second
export EVERSTEP_SERVER=$url
expect "the next start prints again where the admin's token is" 'says admin-token second.out'
expect "the next start creates no second admin's token" '[[ $(cat data/admin-token) == "$first_token" ]]'
run events naps --until-end
expect "interrupted runs continue" '((status == 0)) && says RunCompleted'
stop second

# ---- killed and restarted while clients watch
serve killed
killed=$child
export EVERSTEP_SERVER=$url
begin watched run naps.yaml --run-id watched --output json
watched=$child
wait_for 'says WaitStarted watched.out || says StepStarted watched.out'
begin followed events watched --until-end
followed=$child
begin other events watched --follow
other=$child
wait_for 'says RunStarted followed.out && says RunStarted other.out'
kill -9 "$killed"
wait "$killed" 2>/dev/null
wait_for 'says "waiting for the server" watched.err && says "waiting for the server" followed.err'
expect "watchers of a run wait for a server that went away" \
  'says "waiting for the server, up to 60 s" watched.err && lines 1 watched.err && lines 1 followed.err'
kill -INT "$other"
child=$other
finish other
expect "a waiting watcher can be interrupted" '((status == 130))'
begin risen serve --listen "${url#http://}"
risen=$child
child=$watched
finish watched
expect "watchers see the run's end" '((status == 0)) && says RunCompleted'
child=$followed
finish followed
expect "followers of events see the run's end" '((status == 0)) && says RunCompleted'
run events watched
expect "followed and watched events are neither lost nor repeated" 'cmp -s out followed.out && cmp -s out watched.out'
run serve --data elsewhere --listen "${url#http://}"
expect "an address in use is reported" '((status == 12)) && says "ADDRESS_IN_USE: another process listens at" err'
expect "a failed start logs no stop" '! says server.stop err && ! grep -q server.stop elsewhere/audit.log'
serve late --data elsewhere
expect "the next start prints where the admin's token is" 'says elsewhere/admin-token late.out'
stop late
EVERSTEP_STORE_FREE_READY=900000G serve full --data elsewhere
EVERSTEP_SERVER=$url run doctor
expect "a server with little disk is not ready" '((status == 7)) && says "fail  server" && says "is not ready"'
stop full
expect "failed readiness probes are not logged as errors" '! says request.failed err'
rm elsewhere/admin-token
serve later --data elsewhere
expect "the hint disappears once the admin's token is moved away" '! says admin-token later.out'
stop later
child=$risen
stop risen

# ---- the folder without a server
unset EVERSTEP_SERVER EVERSTEP_TOKEN_FILE
run token create night --role viewer --tenant acme --expires-in 1h
expect "tokens can be created without a server" '((status == 0)) && [[ $(cat out) == est_* ]]'
run token list --output json
expect "tokens can be listed without a server" '((status == 0)) && says "\"name\": \"night\"" && says "\"tenantId\": \"acme\""'
run token create night --role emperor
expect "unknown roles are refused without a server" '((status == 2)) && says "unknown role" err'
run token revoke nobody
expect "an unknown token is reported" '((status == 4)) && says "there is no token" err'
run audit verify
expect "token changes without a server are in the audit log" '((status == 0)) && grep -q createToken data/audit.log'
run start greet.yaml --run-id resting
expect "start works without a server" '((status == 0)) && [[ $(cat out) == resting ]]'
run start greet
expect "plan ids need a server" '((status == 4)) && says "--server" err'
chmod 644 data/tokens.json
run doctor
expect "doctor reports files that others can read" '((status == 7)) && says "fail  tokens.json" && says "do: chmod go= "'
chmod 600 data/tokens.json
mv data/tokens.json kept.json
run token list
expect "a lost token file is not replaced by an empty one" '((status == 4)) && says STORE_NOT_FOUND err && says "tokens.json is missing" err && [[ ! -e data/tokens.json ]]'
tail -c +2 kept.json >data/tokens.json
run token list
expect "a damaged token file is refused" '((status == 5)) && says STORE_CORRUPT err && says "tokens.json" err'
run doctor
expect "doctor reports a damaged token file" '((status == 7)) && says "fail  tokens" && says "does not match its checksum"'
mv kept.json data/tokens.json
cp data/audit.log kept
sed -i '1s/server.start/server.starT/' data/audit.log
run audit verify
expect "audit verify finds a changed entry" '((status == 7)) && says "line 1"'
run doctor
expect "doctor finds a changed entry" '((status == 7)) && says "fail  audit"'
cp kept data/audit.log

# ---- settings
cat >data/everstep.yaml <<'YAML'
drainTimeout: 5s
limits: {headers: 50}
webhooks: {acme: env:ACME_HOOK}
YAML
export ACME_HOOK=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
EVERSTEP_LIMITS_HEADERS=60 run config check
expect "config check shows where each setting comes from" '((status == 0)) && grep -qE "^drainTimeout +5s +.*everstep.yaml:1:15" out'
expect "the environment overrides the file" 'grep -qE "^limits.headers +60 +EVERSTEP_LIMITS_HEADERS" out'
expect "secrets are not shown" 'says env:ACME_HOOK && ! says MfKQ'
run config check --output json
expect "settings can be printed as JSON" '((status == 0)) && python3 -m json.tool out >/dev/null'
echo 'lisen: x' >wrong.yaml
run config check wrong.yaml
expect "an unknown setting is located, with a suggestion" '((status == 2)) && says "wrong.yaml:1:1: there is no setting" err && says "listen" err'
run serve --config wrong.yaml
expect "serve refuses to start with it" '((status == 2)) && says wrong.yaml err'
run doctor --config wrong.yaml
expect "doctor reports it" '((status == 7)) && says "fail  settings"'
# unservable TEXT WORDS: checks that serve, config check and doctor all refuse these settings.
unservable() {
  local words=$2
  printf '%b\n' "$1" >unservable.yaml
  run config check unservable.yaml
  expect "config check refuses $1" '((status == 2)) && says "$words" err'
  run doctor --config unservable.yaml
  expect "doctor refuses $1" '((status == 7)) && says "fail  settings"'
  run serve --config unservable.yaml
  expect "serve refuses $1" '((status == 2)) && says "$words" err'
}
unservable 'listen: foo' "listen (unservable.yaml:1:9): 'foo' is not HOST:PORT"
unservable 'listen: 127.0.0.1:99999' 'a port up to 65535'
unservable 'dev: true\nlisten: 0.0.0.0:7809' 'only loopback addresses are allowed'
unservable 'tls: {certificate: no.pem, key: no.pem}' 'no.pem'
unservable 'ioThreads: 1000000000' 'is at most 256'
EVERSTEP_IO_THRADS=2 run config check
expect "a mistyped variable is refused" "((status == 2)) && says \"did you mean 'EVERSTEP_IO_THREADS'?\" err"
EVERSTEP_IO_THRADS=2 run serve
expect "serve refuses a mistyped variable" '((status == 2)) && says EVERSTEP_IO_THRADS err'
EVERSTEP_SERVICE_HOST=10.0.0.7 run config check
expect "a variable that may belong to another program gives a warning" '((status == 0)) && says "warning: EVERSTEP_SERVICE_HOST" err'

# ---- TLS and the log
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -keyout key.pem -out cert.pem \
  -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost >/dev/null 2>&1
chmod 644 key.pem
serve tls --tls-certificate cert.pem --tls-key key.pem
wait_for 'says server.key tls.err'
expect "a private key that others can read is reported" 'says "chmod o-r" tls.err'
chmod 600 key.pem
expect "a server with a certificate speaks TLS" '[[ $url == https://127.0.0.1:* ]]'
export EVERSTEP_TOKEN_FILE=$work/data/admin-token
run ls --server "$url" --ca-file cert.pem
expect "a command verifies the certificate with its CA file" '((status == 0)) && says resting'
run ls --server "$url"
expect "a certificate from an unknown CA is refused" '((status == 10)) && says SERVER_UNAVAILABLE err'
run events resting --until-end --server "$url" --ca-file cert.pem
expect "the server executes a run that was started without it" '((status == 0)) && says RunCompleted'
# certificate_of URL: prints its subject, as a client sees it.
certificate_of() {
  openssl s_client -connect "${1#https://}" </dev/null 2>/dev/null | openssl x509 -noout -subject 2>/dev/null
}
expect "clients see the certificate" '[[ $(certificate_of "$url") == *localhost* ]]'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -keyout key.pem -out cert.pem \
  -subj /CN=renewed -addext subjectAltName=IP:127.0.0.1 >/dev/null 2>&1
kill -HUP "$child"
wait_for 'says server.certificate tls.err'
expect "SIGHUP reloads the certificate" '[[ $(certificate_of "$url") == *renewed* ]]'
cp cert.pem good.pem
echo rubbish >cert.pem
kill -HUP "$child"
wait_for 'says "cannot be used" tls.err'
expect "SIGHUP keeps the old certificate if the new one is invalid" '[[ $(certificate_of "$url") == *renewed* ]]'
mv good.pem cert.pem
stop tls
expect "the log has one JSON object per line" \
  'python3 -c "import json;[json.loads(l) for l in open(\"tls.err\")]" && says "\"event\":\"server.start\"" tls.err'
expect "the log covers the start and the stop" 'says "\"event\":\"server.stop\"" tls.err'
expect "the log contains no token" '! says est_ tls.err && ! says MfKQ tls.err'
export EVERSTEP_TLS_CERTIFICATE=$work/cert.pem EVERSTEP_TLS_KEY=$work/key.pem
run doctor
expect "doctor reads the certificate" '((status == 0)) && says "ok    tls" && says "CN = renewed"'
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out other.pem 2>/dev/null
EVERSTEP_TLS_KEY=$work/other.pem run doctor
expect "doctor finds a key that does not match the certificate" '((status == 7)) && says "fail  tls"'
unset EVERSTEP_TLS_CERTIFICATE EVERSTEP_TLS_KEY
begin text serve --listen 127.0.0.1:0 --log-format text --log-level error
wait_for "says 'listening on ' text.out"
stop text
expect "a log level omits less severe lines" '! says server.start text.err'

python3 - >big.yaml <<'PYTHON'
print('metadata: {planId: big, planVersion: "1.0"}\nsteps:')
for i in range(3000):
    print('  - {stepId: s%d, kind: noop, when: "{{ false }}"}' % i)
PYTHON
EVERSTEP_LOG_SLOW_REQUEST=1ms serve slow
run start big.yaml --server "$url"
expect "a large plan is accepted" '((status == 0))'
wait_for 'says "\"event\":\"request.slow\"" slow.err'
expect "a slow request is logged with its operation and trace" \
  'grep "request.slow" slow.err | grep "\"operation\":\"startRun\"" | grep -q "\"traceId\":\"[0-9a-f]\{32\}\""'
stop slow
EVERSTEP_STORE_FREE_MIN=1000000G serve slow
run start greet.yaml --server "$url"
expect "a start is refused on a full disk" '((status == 5)) && says STORE_FULL err'
wait_for 'says "\"event\":\"request.failed\"" slow.err'
expect "an answer of 5xx is logged" 'grep request.failed slow.err | grep -q "\"status\":507"'
stop slow
begin dev serve --listen 127.0.0.1:0 --dev --data devdata
wait_for "says 'listening on ' dev.out"
url=$(sed -n 's/^listening on //p' dev.out | head -n 1)
server=$child
run bench load "$url/livez" --in-flight 2 --duration 100ms --expect ok
expect "bench load measures a server" '((status == 0)) && says requests/s'
run bench load "$url/livez" --expect "no such text"
expect "bench load ends when an answer is not as expected" '((status == 10)) && says "answered 200" err'
begin worker bench serve --as-worker "$url"
worker=$child
wait_for 'curl -s "$url/v1/workers" | grep -q "\"name\":\"bench\""'
child=$server
stop dev
expect "--dev prints a warning" 'says "WARNING: --dev: no authentication" dev.out && says server.dev dev.err'
kill -TERM "$worker"
expect "a worker of the bench ends on SIGTERM although its server is gone" 'wait_for "! kill -0 $worker 2>/dev/null"'

# ---- completion
run completion bash
expect "bash completion is valid" '((status == 0)) && bash -n out'
# complete_words WORD...: prints what bash offers for the last word.
complete_words() {
  bash -c 'source ./out; COMP_WORDS=(everstep "$@"); COMP_CWORD=$#; _everstep; printf "%s\n" "${COMPREPLY[@]}"' \
    bash "$@" >offered
}
complete_words to
expect "bash completes commands" '[[ $(cat offered) == token ]]'
complete_words log ver
expect "bash completes second words" '[[ $(cat offered) == verify ]]'
complete_words run --inp
expect "bash completes options" '[[ $(cat offered) == $'\''--input\n--input-file'\'' ]]'
complete_words events r --dialect dev
expect "bash completes values of options" '[[ $(cat offered) == devkit ]]'
run completion fish
cp out everstep.fish
# fish_words LINE: prints what fish offers for the last word.
fish_words() {
  fish --no-config -c 'source everstep.fish; complete -C $argv[1]' "$1" | cut -f 1 | sort >offered
}
fish_words 'everstep to'
expect "fish completes commands" '((status == 0)) && [[ $(cat offered) == token ]]'
fish_words 'everstep log ver'
expect "fish completes second words" '[[ $(cat offered) == verify ]]'
fish_words 'everstep run --inp'
expect "fish completes options" '[[ $(cat offered) == $'\''--input\n--input-file'\'' ]]'
fish_words 'everstep events r --dialect dev'
expect "fish completes values of options" '[[ $(cat offered) == devkit ]]'
run completion zsh
mkdir fpath && cp out fpath/_everstep
# zsh_words LINE: prints the line as zsh completes it when Tab is pressed at its end.
zsh_words() { zsh -f "$zsh_tab" "$PWD/fpath" "$1" >offered; }
zsh_words 'everstep tok'
expect "zsh completes commands" '((status == 0)) && [[ $(cat offered) == "everstep token" ]]'
zsh_words 'everstep log ver'
expect "zsh completes second words" '[[ $(cat offered) == "everstep log verify" ]]'
zsh_words 'everstep run --input-f'
expect "zsh completes options" '[[ $(cat offered) == "everstep run --input-file" ]]'
zsh_words 'everstep events r --dialect dev'
expect "zsh completes values of options" '[[ $(cat offered) == "everstep events r --dialect devkit" ]]'
run completion tcsh
expect "other shells are refused" '((status == 2))'
exit $((failures > 0))
