#!/usr/bin/env bash
# An application of Workflow DevKit and its server, killed at random under load.
# EVERSTEP_CHAOS_SECONDS: for how long (10). EVERSTEP_CHAOS_SEED: who is killed when.
# Usage: devkit_chaos.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
source "$here/checks.bash"
source "$here/devkit/package.bash"
seconds=${EVERSTEP_CHAOS_SECONDS:-10}
make_app app "$suite_modules"
cd app || exit 1
timeout $((5 * seconds + 300)) node chaos.mjs "$everstep" "$work/chaos" "$seconds" "${EVERSTEP_CHAOS_SEED:-7}"
(($? == 0)) || failures=$((failures + 1))
run log verify --store "$work/chaos/data/store"
expect "the store verifies after all of it" '((status == 0))'

exit $((failures > 0))
