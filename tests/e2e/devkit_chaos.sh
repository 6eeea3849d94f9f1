#!/usr/bin/env bash
# An application of Workflow DevKit and its server, killed at random under load.
# EVERSTEP_CHAOS_SECONDS: duration (10). EVERSTEP_CHAOS_SEED: the order of kills.
# EVERSTEP_CHAOS_RUNTIMES: the generations of the runtime to test, one after another (next); stable,
# suite, next. EVERSTEP_CHAOS_LONG: the workflow with long steps: number of steps, their ms, and runs
# (6 400 40).
# Usage: devkit_chaos.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/checks.bash"
source "$here/devkit/package.bash"
seconds=${EVERSTEP_CHAOS_SECONDS:-10}

for runtime in ${EVERSTEP_CHAOS_RUNTIMES:-next}; do
  modules=${runtime}_modules
  make_app "$work/$runtime" "${!modules}"
  cd "$work/$runtime" || exit 1
  cp -r "$here"/devkit/chaos/. .
  echo '{"private":true}' >package.json
  WORKFLOW_TARGET_WORLD=@everstep/world timeout 60 node node_modules/.bin/workflow build >out 2>err
  status=$?
  expect "the application is built ($runtime)" '((status == 0))'
  timeout $((5 * seconds + 400)) node chaos.mjs "$everstep" "$work/$runtime/chaos" "$seconds" "${EVERSTEP_CHAOS_SEED:-7}" ${EVERSTEP_CHAOS_LONG:-} >out 2>err
  status=$?
  sed "/^\(not \)\?ok/s/\$/ ($runtime)/" out
  ((status == 0)) || { failures=$((failures + 1)); sed 's/^/# /' err | head -n 20; }
  run log verify --store chaos/data/store
  expect "the store has no faults afterwards ($runtime)" '((status == 0))'
done

exit $((failures > 0))
