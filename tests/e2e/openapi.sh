#!/usr/bin/env bash
# The description of the API: well-formed, made by tools/openapi, and about the routes there are.
# Usage: openapi.sh
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source_dir=${EVERSTEP_SOURCE_DIR:-$here/../..}
export PYTHONDONTWRITEBYTECODE=1
failures=0

expect() {
  local sentence=$1 out
  shift
  if out=$("$@" 2>&1); then
    echo "ok - $sentence"
  else
    failures=$((failures + 1))
    echo "not ok - $sentence"
    sed 's/^/#   /' <<<"$out" | head -n 40
  fi
}

expect "schemas/openapi.json is what tools/openapi writes" \
  /usr/bin/python3 "$source_dir/tools/openapi" --check
# Without telemetry and without asking whether there is a newer version.
expect "the linter finds nothing" \
  env REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true \
  "$source_dir/build/node/node_modules/.bin/redocly" lint --config "$here/node/redocly.yaml" \
  "$source_dir/schemas/openapi.json"
/usr/bin/python3 "$here/openapi_routes.py" "$source_dir" || failures=$((failures + 1))

exit $((failures > 0))
