#!/usr/bin/env bash
# Runs every plan under examples/ as a user would and checks the result.
# Usage: examples.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

source_dir=${EVERSTEP_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
examples=$source_dir/examples
source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"

# query DATABASE SQL: prints the rows, their columns separated by blanks.
query() {
  python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): print(*row)' "$1" "$2"
}

# ---- all of them
for plan in "$examples"/*.yaml; do
  run plan check --workers "$plan"  # an unknown kind belongs to a worker
  expect "$(basename "$plan") has no faults" '((status == 0)) && says ": ok: plan $(basename "$plan" .yaml) "'
  expect "$(basename "$plan") has a description" 'head -n 1 "$plan" | grep -q "^# "'
  cp "$plan" .
done

# ---- tour, in the background, because it takes long
EVERSTEP_DATA=$work/tour "$everstep" run tour.yaml --run-id tour >tour.out 2>tour.err </dev/null &
tour=$!
children+=("$tour")

# ---- order
run run order.yaml --input shop="$work/shop.db" --run-id good --no-watch
expect "an order is shipped" '((status == 0)) && says "{\"parcel\":\"parcel-good\",\"charged\":25}"'
run run order.yaml --input shop="$work/shop.db" --input carrier=on-strike --run-id bad --no-watch
expect "an order that cannot be shipped fails" '((status == 1)) && says "bad is FAILED"'
query shop.db "SELECT entry, quantity, amount FROM ledger WHERE order_id = 'good' ORDER BY nr" >out
expect "the shipped order is in the ledger" '[[ $(cat out) == $'\''reserved 2 0.0\ncharged 0 25.0'\'' ]]'
query shop.db "SELECT entry, quantity, amount FROM ledger WHERE order_id = 'bad' ORDER BY nr" >out
expect "the other one is undone in reverse order" \
  '[[ $(cat out) == $'\''reserved 2 0.0\ncharged 0 25.0\nrefunded 0 -25.0\nreleased -2 0.0'\'' ]]'
run events bad --type StepStarted --entity step/ship
expect "shipping was tried three times" '((status == 0)) && (($(wc -l <out) == 3))'
run run order.yaml --input carrier=late
expect "an input that is not allowed is refused" '((status == 3)) && says INVALID_INPUT err'

# ---- nightly load
for day in 2026-02-11 2026-02-12 2026-02-11; do
  run run nightly-load.yaml --input warehouse="$work/warehouse.db" --input day="$day" --no-watch
  expect "the sales of $day are loaded" '((status == 0)) && says "\"day\":\"$day\",\"loaded\":1000,\"cents\":498500"'
done
query warehouse.db "SELECT day, count(*), sum(cents) FROM sales GROUP BY day ORDER BY day" >out
expect "loading a day again replaces it" \
  '[[ $(cat out) == $'\''2026-02-11 1000 498500\n2026-02-12 1000 498500'\'' ]]'
expect "the report is kept as an artifact" 'grep -rqsF "# Sales of 2026-02-12" data/artifacts'

# ---- approval, both ways
for answer in approve reject; do
  "$everstep" run approval.yaml --input release="$answer" --run-id "$answer" >asked 2>err </dev/null &
  child=$!
  children+=("$child")
  wait_for 'says "deliver approve-$answer" asked'
  run why "$answer"
  expect "why names the missing approval" '((status == 0)) && says "everstep deliver approve-$answer"'
  run deliver "approve-$answer" "--$answer" --comment "seen"
  expect "an answer is delivered to the waiting run" '((status == 0)) && says "delivered to $answer"'
  wait "$child"
  status=$?
  cp asked out
  if [[ $answer == approve ]]; then
    expect "a yes publishes the release" '((status == 0)) && says "\"approved\":true" && says "\"comment\":\"seen\""'
  else
    expect "a no fails the run" '((status == 1)) && says "APPROVAL_REJECTED"'
    expect "a no withdraws the staged build" 'says "✔ stage:undo"'
  fi
done

# ---- fan-out
run run fan-out.yaml --run-id fan --no-watch
expect "a thousand items are joined" \
  '((status == 0)) && says "{\"count\":1000,\"last\":1000,\"longest\":{\"number\":871,\"steps\":178}}"'
run show fan
expect "the loop shows all items as done" '((status == 0)) && says "1000/1000"'
"$everstep" events fan --type StepCompleted | grep -oE '"stepId":"collatz:[0-9]+"' | sort -u >out
expect "each item has its own event in the log" '(($(wc -l <out) == 1000))'

# ---- polling
run run polling.yaml --input seconds=1 --run-id poll --no-watch
expect "a job is polled until it is done" '((status == 0)) && says "\"state\":\"done\""'
run run polling.yaml --input seconds=0 --input outcome=failed --run-id poll-failed --no-watch
expect "a failed job is not polled again" '((status == 1)) && says "exit code 2"'
run events poll-failed --type StepStarted --entity step/poll
expect "its answer was final" '((status == 0)) && (($(wc -l <out) == 1))'

# ---- tour
wait "$tour"
status=$?
cp tour.out out
cp tour.err err
expect "the tour completes" '((status == 0)) && says "tour is COMPLETED" && says "{\"seats\":24,\"tries\":3,\"bars\":20}"'
expect "the tour has retries, a loop, a wait and a step that is skipped" \
  '(($(grep -c "↻ oven" out) == 2)) && says "24/24" && says "◷ dough" && says "– tent"'
EVERSTEP_DATA=$work/tour run timeline tour
expect "the timeline has all of its steps" '((status == 0)) && says "3 attempts" && says "dinner" && says "skipped"'

exit $((failures > 0))
