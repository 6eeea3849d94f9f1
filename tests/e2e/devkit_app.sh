#!/usr/bin/env bash
# Applications of Workflow DevKit as users run them: the example on the stable runtime and on two
# betas, the stock command line and web UI of both, and TLS.
# Usage: devkit_app.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/checks.bash"
source "$here/devkit/package.bash"
example=$source_dir/examples/devkit
order='{"number":"7","items":["pump","hose"],"cents":2500}'

# ---- the example
timeout 150 "$example/run" "$everstep" >out 2>err
status=$?
shows_all='((status == 0)) && says "charged 25 EUR at attempt 2" && says "signed by Ada" && says COMPLETED'
expect "the example, on the stable runtime, works with orders, retries, sleeps, streams and its webhook" "$shows_all"
make_app next "$next_modules"
DEVKIT_APP=$work/next timeout 150 "$example/run" "$everstep" >out 2>err
status=$?
expect "the example works on the newest beta" "$shows_all"
make_app suite "$suite_modules"
DEVKIT_APP=$work/suite timeout 150 "$example/run" "$everstep" >out 2>err
status=$?
expect "the example works on the beta of the suite" "$shows_all"

# ---- TLS: the application trusts its server's certificate because of a CA file, and no other
# certificate
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
    -addext "subjectAltName=IP:127.0.0.1" -keyout "$1.key" -out "$1.pem" >out 2>err
  chmod 600 "$1.key"
}
certificate server
certificate stranger
# serve_tls DATA: starts a server with TLS.
serve_tls() {
  : >tls.out
  begin tls serve --data "$work/$1" --listen 127.0.0.1:0 --tls-certificate "$work/server.pem" --tls-key "$work/server.key"
  wait_for 'says "listening on" tls.out'
  EVERSTEP_URL=$(sed -n 's/^listening on //p' tls.out)
  export EVERSTEP_URL EVERSTEP_TOKEN_FILE=$work/$1/admin-token EVERSTEP_CA_FILE=$work/server.pem
}
serve_tls data
export WORKFLOW_TARGET_WORLD=@everstep/world
make_app app "$stable_modules"
cp -r "$example"/{server.mjs,order.mjs} "$source_dir/build/example-devkit/.well-known" app
cd app || exit 1
ask() {
  timeout 20 node --input-type=module -e '
    import { createWorld } from "@everstep/world";
    await createWorld({ retryForMs: 2500 }).runs.list().then(
      ({ data }) => console.log(`${data.length} runs`), (error) => console.log(`${error.name} ${error.code}: ${error.message}`));
    process.exit();' >out 2>err
  status=$?
}
ask
expect "a server is reachable over TLS" '((status == 0)) && says "0 runs"'
started_ms=$(date +%s%3N)
EVERSTEP_CA_FILE=$work/stranger.pem ask
expect "its certificate is refused at once if only another CA is trusted" \
  'says "WorkflowWorldError TRANSPORT: Everstep at $EVERSTEP_URL is not trusted" && says EVERSTEP_CA_FILE && (($(date +%s%3N) - started_ms < 2500))'
EVERSTEP_CA_FILE='' ask
expect "its certificate is refused if no CA is trusted" 'says "WorkflowWorldError TRANSPORT: " && says "self-signed certificate"'
EVERSTEP_URL=https://localhost:${EVERSTEP_URL##*:} ask
expect "its certificate is refused under another host name" 'says "WorkflowWorldError TRANSPORT: " && says "does not match"'
EVERSTEP_CA_FILE=$work/nowhere.pem ask
expect "a missing CA file is named" 'says EVERSTEP_CA_FILE && says nowhere.pem'
EVERSTEP_URL=http://${EVERSTEP_URL#https://} ask
expect "it cannot be reached without TLS" 'says "WorkflowWorldError TRANSPORT: Everstep at http://"'

# ---- the stock command line and web UI of each generation
wf() {
  timeout 60 node node_modules/.bin/workflow "$@" --backend @everstep/world >out 2>err </dev/null
  status=$?
}
# value NAME: prints the first member with that name in the JSON of out.
value() { sed -n "s/^ *\"$1\": \"\(.*\)\",*$/\1/p" out | head -n 1; }
waits_for_hook() {
  "$everstep" events "$1" --server "$EVERSTEP_URL" --dialect devkit >events 2>err && says hook_created events
}

# stock_tools NOTE ROUTES: checks the application in this folder, which has ROUTES routes that take
# messages.
stock_tools() {
  local app routes=$2 run_id second_id web_port
  node --disable-warning=MODULE_TYPELESS_PACKAGE_JSON server.mjs >app.out 2>app.err &
  children+=($!)
  wait_for 'says "listening on" app.out'
  app=$(sed -n 's/^listening on //p' app.out)
  timeout 60 node order.mjs "$app" >out 2>err
  status=$?
  expect "an application works over TLS ($1)" '((status == 0)) && says "charged 25 EUR" && says "signed by Ada"'

  run_id=$(curl -s "$app/orders" --json "$order" | sed -n 's/.*"runId":"\([^"]*\)".*/\1/p')
  expect "a run waits for its webhook ($1)" 'wait_for "waits_for_hook $run_id"'
  wf inspect runs --json --limit 1
  expect "inspect runs starts with the newest ($1)" '((status == 0)) && [[ $(value runId) == "$run_id" ]]'
  wf inspect runs --json --status completed
  expect "inspect runs filters by status ($1)" '((status == 0)) && says "\"status\": \"completed\"" && ! says "$run_id"'
  wf inspect run "$run_id" --json
  expect "inspect run shows its input ($1)" '((status == 0)) && says "\"number\": \"7\"" && says "\"hose\""'
  wf inspect steps --runId "$run_id" --json
  expect "inspect steps lists them ($1)" '((status == 0)) && (($(grep -c "\"stepId\"" out) == 6)) && says "//charge"'
  wf inspect step "$(value stepId)" --runId "$run_id" --json
  expect "inspect step shows one ($1)" '((status == 0)) && says "on its way; sign at"'
  wf inspect events --runId "$run_id" --json --sort asc --limit 100
  expect "inspect events reads the log ($1)" \
    '((status == 0)) && [[ $(value eventType) == run_created ]] && says step_retrying && says wait_completed && says hook_created'
  wf inspect hooks --runId "$run_id" --json
  expect "inspect hooks lists them ($1)" '((status == 0)) && says "$run_id" && says "\"isWebhook\": true"'
  wf inspect hook "$(value hookId)" --json
  expect "inspect hook shows one ($1)" '((status == 0)) && says "\"token\""'
  wf inspect sleeps --runId "$run_id" --json
  expect "inspect sleeps lists them ($1)" '((status == 0)) && says "\"resumeAt\"" && says "\"completedAt\""'
  wf inspect streams --runId "$run_id" --json
  expect "inspect streams lists them ($1)" '((status == 0)) && says "strm_${run_id#wrun_}_user"'
  wf health --json
  expect "health reaches the application through the queue ($1)" \
    '((status == 0)) && says "\"allHealthy\": true" && (($(grep -c "\"healthy\": true" out) == routes))'
  wf start "$run_id" "$order" --json
  second_id=$(value runId)
  expect "start starts a workflow again ($1)" \
    '((status == 0)) && [[ $second_id == wrun_* && $second_id != "$run_id" ]] && wait_for "waits_for_hook $second_id"'
  wf cancel "$second_id"
  "$everstep" show "$second_id" --server "$EVERSTEP_URL" >out 2>err
  expect "cancel ends a run ($1)" '((status == 0)) && says CANCELLED'

  web_port=$(node -e 'const s = require("net").createServer().listen(0, () => { console.log(s.address().port); s.close(); })')
  node node_modules/.bin/workflow web --noBrowser --webPort "$web_port" --backend @everstep/world >web.out 2>web.err </dev/null &
  children+=($!)
  wait_for 'says "Web UI available" web.out'
  node web_ui.mjs "http://localhost:$web_port" "$run_id" "$routes" >out 2>err
  status=$?
  sed "/^\(not \)\?ok/s/\$/ ($1)/" out
  ((status == 0)) || { failures=$((failures + 1)); sed 's/^/# /' out err | head -n 30; }
}
stock_tools 4.x 2
cd "$work/next" || exit 1
serve_tls next-data
stock_tools "newest beta" 1

exit $((failures > 0))
