#!/usr/bin/env bash
# The Python SDK with the real server: its own tests, and the example as a user would run it.
# Usage: sdk_python.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

source_dir=${EVERSTEP_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
export PYTHONPATH=$source_dir/sdk/python PYTHONDONTWRITEBYTECODE=1 EVERSTEP=$everstep
unset EVERSTEP_URL EVERSTEP_TOKEN
: >out
: >err

# ---- the tests of the SDK
timeout 240 python3 -m tests.report || failures=$((failures + 1))

# ---- the example
begin server serve --dev --data "$work/example" --listen 127.0.0.1:0
server=$child
wait_for 'says "listening on" server.out'
export EVERSTEP_URL
EVERSTEP_URL=$(sed -n 's/^listening on //p' server.out)
python3 "$source_dir/examples/python_worker.py" >worker.out 2>worker.err </dev/null &
worker=$!
children+=("$worker")
timeout 30 python3 "$source_dir/examples/python_worker.py" start "$source_dir/examples/worker.yaml" >out 2>err
status=$?
expect "the example's worker completes the example's run" \
  '((status == 0)) && says "charged 25 EUR, parcel parcel-1"'
timeout 30 python3 "$source_dir/examples/python_worker.py" start "$source_dir/examples/worker.yaml" 5000 >out 2>err
status=$?
expect "a declined card fails the run with the worker's code" '((status == 1)) && says CARD_DECLINED'
kill -TERM "$worker"
wait "$worker"
status=$?
expect "the worker stops when asked to" '((status == 0))'
kill -TERM "$server"
wait "$server"

exit $((failures > 0))
