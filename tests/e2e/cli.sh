#!/usr/bin/env bash
# The program from the outside: every command, dialect and exit code, and error conditions.
# Usage: cli.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
mounted=""
cleanup() {
  [[ -n $mounted ]] && umount "$mounted"
  rm -rf "$work"
}

# feed TEXT ARGUMENT...: like run, with lines of text on standard input.
feed() {
  local text=$1
  shift
  printf '%s\n' "$text" | "$everstep" "$@" >out 2>err
  status=$?
}
started() { printf '{"eventType":"RunStarted","runId":"%s"}' "$1"; }
step() { printf '{"eventType":"Step%s","runId":"%s","stepId":"%s"}' "$1" "$2" "$3"; }
ended() { printf '{"eventType":"RunCompleted","runId":"%s"}' "$1"; }

# ---- the command line
run
expect "without a command it shows the commands and exits 2" '((status == 2)) && says "log append" err'
run --help
expect "--help lists every command" '((status == 0)) && says "log timeline" && says "demo"'
mapfile -t commands < <(sed -n 's/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p' out)
expect "every listed command is checked below" '((${#commands[@]} == $(grep -c "^  [a-z]" out) && ${#commands[@]} > 20))'
for command in "${commands[@]}"; do
  run $command --help
  expect "$command has help" '((status == 0)) && says "everstep $command" && says "--help"'
  run help $command
  expect "help $command shows the same help" '((status == 0)) && says "everstep $command"'
done
run version
expect "version prints one line" '((status == 0)) && grep -qE "^everstep [0-9]+\.[0-9]+\.[0-9]+$" out'
run log apend
expect "a misspelt command is corrected" '((status == 2)) && says "did you mean '\''log append'\''?" err'
run append
expect "half a command is completed" '((status == 2)) && says "did you mean '\''log append'\''?" err'
run log
expect "a group alone lists its commands" '((status == 2)) && says "log verify" err'
run log runs --storr x
expect "a misspelt option is corrected" '((status == 2)) && says "did you mean --store?" err'
run log append --dialect devkt
expect "a misspelt value is corrected" '((status == 2)) && says "did you mean devkit?" err'
run log append --batch many
expect "a value of the wrong kind is named" '((status == 2)) && says "--batch takes a whole number" err'
run log snapshot
expect "a missing operand is named" '((status == 2)) && says "RUN is missing" err'
run log snapshot a b
expect "an operand too many is named" '((status == 2)) && says "unexpected argument" err'
run log retain
expect "a missing required option is named" '((status == 2)) && says "--older-than TIME is missing" err'
run log append --store
expect "an option without its value is named" '((status == 2)) && says "--store needs a value" err'
run log append --summary=yes
expect "a switch takes no value" '((status == 2)) && says "takes no value" err'
run log read a --since 5m
expect "options that contradict each other are refused" '((status == 2)) && says "name a RUN, or give --since" err'

# ---- append: results, order, idempotency, exit codes
store=$work/store
feed "$(started a)
$(step Started a s1)
$(step Completed a s1)" log append --store "$store"
expect "appending answers every line in order" '((status == 0)) && lines 3 && says "\"line\":3,\"runId\":\"a\",\"runSeq\":3"'
cp out first
feed "$(started a)
$(step Started a s1)
$(step Completed a s1)" log append --store="$store"
expect "appending again is idempotent" '((status == 0)) && (($(grep -c "\"idempotent\":true" out) == 3))'
expect "the repeated answers name the first events" \
  'diff <(sed "s/\"idempotent\":true/\"idempotent\":false/" out) first >/dev/null'
feed '{"eventType":"StepCompleted","runId":"a","stepId":"s1","payload":{"result":2}}' log append --store "$store"
expect "a repetition with another payload is reported" '((status == 0)) && says "\"payloadMismatch\":true"'
feed "$(step Started a s1)" log append --store "$store" --tenant 'no|pipe'
expect "a tenant that is not an identifier is bad input" '((status == 3)) && says "/tenantId"'
feed "$(step Completed b s1)" log append --store "$store"
expect "an event that the rules refuse exits 1" '((status == 1)) && says "\"code\":\"RUN_NOT_FOUND\""'
feed '{"eventType":"RunStarted"' log append --store "$store"
expect "broken JSON exits 3" '((status == 3)) && says "\"code\":\"INVALID_JSON\""'
feed '{"eventType":"StepStarted","runId":"a","stepId":"s2","logicalAttemptId":"one"}' log append --store "$store"
expect "a wrong field is named by its pointer" \
  '((status == 3)) && says "SCHEMA_VALIDATION_FAILED" && says "\"pointer\":\"/logicalAttemptId\""'
feed '{"eventType":"StepExploded","runId":"a"}' log append --store "$store"
expect "an unknown type exits 3" '((status == 3)) && says "\"code\":\"EVENT_TYPE_UNKNOWN\""'
head -c 20000 /dev/urandom | "$everstep" log append --store "$store" >out 2>err
status=$?
expect "binary garbage is reported as an error" \
  '((status == 3)) && says "\"error\"" && ! grep -qv "^{\"line\":[0-9]*,\"error\":{\"code\":\"" out'
{
  printf '{"eventType":"StepStarted","runId":"a","stepId":"'
  head -c 3000000 /dev/zero | tr '\0' x
  printf '"}\n'
  step Started a s2
} | "$everstep" log append --store "$store" >out 2>err
status=$?
expect "a line over 1 MiB is refused and the next one is not" \
  '((status == 3)) && says "\"line\":1,\"error\":{\"code\":\"EVENT_TOO_LARGE\"" && says "\"line\":2,\"runId\":\"a\",\"runSeq\":4"'
feed "

$(step Completed a s2)
" log append --store "$store"
expect "blank lines are skipped but counted" '((status == 0)) && lines 1 && says "\"line\":3,"'
feed "broken
$(step Completed zz s1)
$(started c)" log append --store "$store" --summary
expect "events after an error are still appended" '((status == 3)) && lines 3 && says "\"line\":3,\"runId\":\"c\""'
expect "the summary counts what happened" 'says "1 event appended, 1 refused, 1 invalid" err'
feed "broken
$(started d)" log append --store "$store" --batch 1 --fail-fast
expect "--fail-fast stops at the first error" '((status == 3)) && lines 1 && says "\"line\":1,\"error\""'
started e >one.ndjson
ended e >two.ndjson
run log append one.ndjson two.ndjson --store "$store"
expect "files are read in order and named in the answers" \
  '((status == 0)) && says "{\"file\":\"two.ndjson\",\"line\":1,\"runId\":\"e\",\"runSeq\":2"'
run log append nowhere.ndjson --store "$store"
expect "a missing file exits 4" '((status == 4)) && says "nowhere.ndjson" err'
feed "$(started -dash)" log append --store "$store" -- -
expect "after -- everything is an operand" '((status == 3)) && says "/runId"'
feed "$(started f)" log append --store "$store" --tenant t1 --project p1 --environment e1 --plan pl --plan-version 9
run log snapshot f --store "$store" --output json
expect "new runs take their scope from the options" \
  'says "\"tenantId\": \"t1\"" && says "\"planId\": \"pl\"" && says "\"planVersion\": \"9\""'
EVERSTEP_STORE=$store run log snapshot a
expect "the store may come from the environment" '((status == 0)) && says "RUNNING"'

# A pipe that stays open is answered line by line.
mkfifo lines_in
"$everstep" log append --store "$store" <lines_in >answers 2>err &
appender=$!
exec 7>lines_in
started g >&7
printf '\n' >&7
expect "an open pipe is answered at once" 'wait_for "says \"runId\\\":\\\"g\" answers"'
step Started g s1 >&7
printf '\n' >&7
expect "the next line is answered too" 'wait_for "lines 2 answers"'

# ---- while the writer still runs
run log append --store "$store" --lock-timeout 100ms
expect "a store in use is locked for a second writer: exit 5" '((status == 5)) && says "STORE_LOCKED" err'
expect "errors name the page that explains them" 'says "see '\''everstep help STORE_LOCKED'\''" err'
run help STORE_LOCKED
expect "the page is part of the program" '((status == 0)) && says "# STORE_LOCKED" && says "What to do"'
run log read g --store "$store"
expect "reading works while a writer is open" '((status == 0)) && lines 2'
"$everstep" log read g --store "$store" --follow --until-end >followed 2>err &
follower=$!
expect "--follow shows existing events" 'wait_for "lines 2 followed"'
printf '%s\n' "$(step Completed g s1)" >&7
expect "--follow shows new events" 'wait_for "lines 3 followed"'
printf '%s\n' "$(ended g)" >&7
wait "$follower"
status=$?
expect "--until-end ends with the run" '((status == 0)) && says RunCompleted followed && lines 4 followed'
"$everstep" log read g --store "$store" --follow >interrupted 2>err &
follower=$!
wait_for "[[ -e interrupted ]] && lines 4 interrupted"
kill -INT "$follower"
wait "$follower"
status=$?
expect "--follow ends with 130 when interrupted" '((status == 130)) && lines 4 interrupted'
"$everstep" log compact --store "$store" --lock-timeout 30s >waited 2>&1 &
waiter=$!
kill -TERM "$appender"
wait "$appender"
status=$?
expect "an interrupted append exits 130 after printing all results" '((status == 130)) && lines 4 answers'
exec 7>&-
wait "$waiter"
status=$?
cp waited out
expect "a command that waits for the store gets it once its owner has ended" '((status == 0)) && says "compacted:"'
for ((i = 0; i < 20000; ++i)); do printf '{"eventType":"ContextUpdated","runId":"a","correlationId":"c"}\n'; done >many.ndjson
"$everstep" log append many.ndjson --store "$store" --batch 16 >many_answers 2>err &
appender=$!
wait_for "[[ -s many_answers ]]"
kill -INT "$appender"
wait "$appender"
interrupted=$?
run log read a --store "$store" --type ContextUpdated
status=$interrupted
expect "an append interrupted in the middle has acknowledged exactly what it wrote" \
  '((status == 130)) && (($(wc -l <many_answers) == $(wc -l <out))) && (($(wc -l <out) < 20000))'
"$everstep" log append many.ndjson --store "$store" 2>err | head -n 1 >out
status=${PIPESTATUS[0]}
expect "an append whose output nobody reads stops quietly" '((status == 130)) && [[ ! -s err ]]'
"$everstep" log read a --store "$store" --output ndjson 2>err | head -n 1 >out
status=${PIPESTATUS[0]}
expect "a reader that closes the pipe early is not an error" '((status == 0)) && [[ ! -s err ]] && lines 1'
"$everstep" log read a --store "$store" >/dev/full 2>err
status=$?
expect "output that cannot be written is an error" '((status == 5)) && says "cannot write standard output" err'

# ---- dialects
write_in() { feed "$2" log append --store "$store" --dialect "$1"; }
scope='"tenantId":"default","projectId":"default","environmentId":"default","planId":"p","planVersion":"1","engineAttemptId":1,"logicalAttemptId":1,"emittedAt":"2026-02-11T10:30:00.000Z"'
write_in contract "{\"eventType\":\"RunStarted\",\"runId\":\"in-contract\",$scope}
{\"eventType\":\"StepStarted\",\"runId\":\"in-contract\",\"stepId\":\"s\",$scope}"
expect "events can be written in contract words" '((status == 0)) && lines 2'
write_in contract '{"eventType":"RunStarted","runId":"in-contract"}'
expect "the contract dialect requires its whole envelope" '((status == 3)) && says "/planVersion"'
write_in devkit '{"eventType":"run_created","runId":"in-devkit","eventData":{"deploymentId":"d1","workflowName":"w"}}
{"eventType":"run_started","runId":"in-devkit"}
{"eventType":"step_created","runId":"in-devkit","correlationId":"step_1","eventData":{"stepName":"s"}}'
expect "events can be written in devkit words" '((status == 0)) && lines 3'
write_in noetl '{"event_id":"1","event_type":"playbook.started","timestamp":"2026-01-17T23:11:22Z","execution_id":"in-noetl"}
{"event_id":"2","event_type":"step.started","timestamp":"2026-01-17T23:11:23Z","execution_id":"in-noetl","entity_id":"s"}'
expect "events can be written in noetl words" '((status == 0)) && lines 2'
write_in elephant '{"source":"elephant.workflow","detail-type":"WorkflowEvent","detail":{"executionId":"in-elephant","county":"lee","status":"IN_PROGRESS","phase":"prepare","step":"s"}}'
expect "events can be written in elephant words" '((status == 0)) && lines 1'
write_in cloudevents '{}'
expect "CloudEvents cannot be written" '((status == 2))'
for pair in native:RunStarted contract:RunStarted devkit:run_started noetl:playbook.started \
  elephant:WorkflowEvent cloudevents:dev.everstep.RunStarted; do
  for run_id in in-contract in-devkit in-noetl in-elephant; do
    run log read "$run_id" --store "$store" --dialect "${pair%%:*}"
    expect "$run_id can be read in ${pair%%:*} words" '((status == 0)) && { says "${pair##*:}" || [[ $pair == elephant* ]]; }'
  done
done
run log read in-elephant --store "$store" --dialect elephant
expect "events written in elephant words read the same" 'says "\"county\":\"lee\"" && says "\"status\":\"IN_PROGRESS\""'

# ---- read
run log read a --store "$store" --after 1 --until 3
expect "--after and --until limit the range" '((status == 0)) && lines 2 && says "\"runSeq\":2," && says "\"runSeq\":3,"'
run log read a --store "$store" --type StepCompleted
expect "--type filters" '((status == 0)) && lines 2'
run log read a --store "$store" --entity step/s2
expect "--entity filters" '((status == 0)) && lines 2'
run log read a --store "$store" --entity s2
expect "an entity without its kind is a usage error" '((status == 2))'
run log read a --store "$store" --type Nope
expect "an unknown --type is a usage error" '((status == 2)) && says "INVALID_ARGUMENT" err'
run log read a --store "$store" --limit 2 --output table
expect "a table has a header and aligned columns" '((status == 0)) && lines 3 && says "SEQ  PERSISTED"'
run log read a --store "$store" --limit 2 --output json
expect "--output json is one array" '((status == 0)) && python3 -c "import json;assert len(json.load(open(\"out\")))==2"'
run log read a --store "$store" --limit 2 --output yaml
expect "--output yaml is a list" '((status == 0)) && (($(grep -c "^- eventId:" out) == 2))'
run log read a --store "$store" --limit 2 --dialect cloudevents --batch-array
expect "--batch-array is the CloudEvents batch format" \
  '((status == 0)) && python3 -c "import json;assert [e[\"specversion\"] for e in json.load(open(\"out\"))]==[\"1.0\"]*2"'
run log read --since 5m --store "$store" --limit 5
expect "--since reads all runs" '((status == 0)) && lines 5'
run log read --since 2999-01-01T00:00:00Z --store "$store"
expect "--since in the future reads nothing" '((status == 0)) && lines 0'
run log read nobody --store "$store"
expect "a run that does not exist exits 4" '((status == 4)) && says "RUN_NOT_FOUND" err'
run log read a --store "$work/nowhere"
expect "a store that does not exist exits 4 and is not created" \
  '((status == 4)) && says "STORE_NOT_FOUND" err && [[ ! -e $work/nowhere ]]'

# ---- snapshot, timeline, runs, health
run log snapshot e --store "$store"
expect "a snapshot shows the current state" '((status == 0)) && says "COMPLETED"'
run log snapshot e --store "$store" --at 1
expect "--at shows an earlier point" '((status == 0)) && says "RUNNING"'
run log snapshot e --store "$store" --at 99
expect "--at behind the end is a usage error" '((status == 2)) && says "the log contains 1 to 2" err'
run log snapshot a --store "$store" --output json
expect "a snapshot as JSON parses" \
  'python3 -c "import json;assert [s[\"status\"] for s in json.load(open(\"out\"))[\"steps\"]]==[\"SUCCESS\"]*2"'
run log snapshot a --store "$store" --output yaml
expect "a snapshot as YAML" '((status == 0)) && says "  - stepId: s1"'
run log snapshot a --store "$store" --hash --output json
expect "the hashes are SHA-256" '((status == 0)) && grep -qE "\"snapshotHash\": \"[0-9a-f]{64}\"" out'
run log timeline g --store "$store"
expect "a timeline draws every event" '((status == 0)) && lines 5 && says "✔ s1" && says "completed"'
run log timeline g --store "$store" --ascii
expect "--ascii draws with ASCII only" '((status == 0)) && lines 5 && ! LC_ALL=C grep -q "[^ -~]" out'
LC_ALL=C run log timeline g --store "$store"
expect "so does a locale that is not UTF-8" '((status == 0)) && ! LC_ALL=C grep -q "[^ -~]" out'
run log runs --store "$store"
expect "runs are listed with totals" '((status == 0)) && says "tenant total: " && says "in-noetl"'
run log runs --store "$store" --status completed --output json
expect "runs are found by status" \
  'python3 -c "import json;assert sorted(r[\"runId\"] for r in json.load(open(\"out\"))[\"runs\"])==[\"e\",\"g\"]"'
run log runs --store "$store" --limit 2 --output json
cursor=$(python3 -c 'import json;print(json.load(open("out"))["cursor"])')
first=$(grep -o '"runId": "[^"]*"' out)
run log runs --store "$store" --limit 2 --cursor "$cursor" --output json
expect "a cursor goes on with other runs" '((status == 0)) && [[ $(grep -o "\"runId\": \"[^\"]*\"" out) != "$first" ]]'
run log runs --store "$store" --tenant t1 --project p1 --environment e1 --plan pl --since 1h
expect "runs are found by scope, plan and time" '((status == 0)) && says "tenant total: 1 run" && grep -q "^f " out'
run log runs --store "$store" --until 1h
expect "no run is older than an hour" '((status == 0)) && lines 2'
run log health --store "$store" --output json
expect "health counts what the store holds" \
  'python3 -c "import json;h=json.load(open(\"out\"));assert h[\"diskBytes\"]>0 and h[\"counts\"][\"events\"]>10"'
script -qec "'$everstep' log runs --store '$store'" /dev/null >out 2>err </dev/null
expect "a terminal gets colours" 'grep -q "$(printf "\033\\[")" out'
NO_COLOR=1 script -qec "'$everstep' log runs --store '$store'" /dev/null >out 2>err </dev/null
expect "NO_COLOR is respected" '! grep -q "$(printf "\033\\[")" out && says "in-noetl"'
feed '{"eventType":"RunFailed","runId":"c","payload":{"errorCode":"E","errorMessage":"\u001b[31mred\u001b[0m"}}' \
  log append --store "$store"
run log snapshot c --store "$store"
expect "text from events cannot steer the terminal" '((status == 0)) && ! grep -q "$(printf "\033")" out && says "red"'

# ---- verify, backup, restore, compact, retain
run log verify --store "$store" --progress
expect "verify finds no faults in an intact store" '((status == 0)) && says "no faults" && says "checked" err'
run log backup "$work/backup" --store "$store"
expect "a store is backed up" '((status == 0)) && [[ -d $work/backup ]]'
run log backup "$work/backup" --store "$store"
expect "a backup is never overwritten" '((status == 5)) && says "STORE_EXISTS" err'
feed "$(started after-backup)" log append --store "$store"
run log restore "$work/backup" --store "$work/restored"
expect "a backup is restored" '((status == 0))'
run log verify --store "$work/restored" --output json
expect "verify finds no faults in the restored store" '((status == 0)) && says "\"findings\": []"'
run log snapshot a --store "$store" --hash
cp out hash_before
run log snapshot a --store "$work/restored" --hash
expect "the restored runs are the same" 'cmp -s out hash_before'
run log snapshot after-backup --store "$work/restored"
expect "the backup contains nothing appended later" '((status == 4))'
run log restore "$work/backup" --store "$work/restored"
expect "a restore does not overwrite a store" '((status == 5)) && says "STORE_EXISTS" err'
run log restore "$work/nowhere" --store "$work/other"
expect "a missing backup exits 4" '((status == 4)) && [[ ! -e $work/other ]]'
run log compact --store "$store"
expect "a store is compacted" '((status == 0)) && says "compacted:"'
run log retain --older-than 30d --store "$store"
expect "retention keeps recent runs" '((status == 0)) && says "removed 0 runs"'
run log retain --older-than 0s --status completed --store "$store"
expect "retention removes whole runs of a status" '((status == 0)) && says "removed 2 runs"'
run log read e --store "$store"
expect "a removed run is gone" '((status == 4)) && says "RUN_EXPIRED" err'
feed "$(started e)" log append --store "$store"
expect "the id of a removed run stays reserved" '((status == 1)) && says "RUN_EXPIRED"'
run log verify --store "$store"
expect "the store still has no faults" '((status == 0)) && says "no faults"'
run log retain --older-than 0s --status running --store "$store"
expect "only runs that have ended can be removed" '((status == 2))'

# ---- stores that cannot be used
cp -r "$work/backup" "$work/newer"
echo "everstep log 99" >"$work/newer/FORMAT"
run log runs --store "$work/newer"
expect "a store of a newer format is refused: exit 5" '((status == 5)) && says "STORE_FORMAT_NEWER" err'
cp -r "$store" "$work/damaged"
for table in "$work"/damaged/*.sst; do
  printf 'damage damage damage' | dd of="$table" bs=1 seek=40 conv=notrunc 2>/dev/null
done
run log verify --store "$work/damaged"
expect "damage is found" '((status == 7 || status == 5))'
mkdir "$work/foreign"
echo "not ours" >"$work/foreign/notes.txt"
feed "$(started a)" log append --store "$work/foreign"
expect "a directory with other things in it is left alone" \
  '((status == 4 || status == 5)) && [[ $(ls "$work/foreign") == notes.txt ]]'
feed "$(started a)" log append --store "$work/one.ndjson/x"
expect "a path that cannot be a directory exits 5" '((status == 4 || status == 5)) && [[ -s err ]]'

# ---- a full disk
feed "$(started full)" log append --store "$store" --min-free 1000000G
expect "too little free disk is refused: exit 5" '((status == 5)) && says "\"code\":\"STORE_FULL\"" && says "everstep help STORE_FULL" err'
feed "$(started full)" log append --store "$store"
expect "with enough space the same event is accepted" '((status == 0)) && says "\"idempotent\":false"'
mkdir "$work/disk"
if mount -t tmpfs -o size=8m tmpfs "$work/disk" 2>/dev/null; then
  mounted=$work/disk
  filler=$(head -c 30000 /dev/zero | tr '\0' x)
  {
    started big
    printf '\n'
    for ((i = 0; i < 1000; ++i)); do
      printf '{"eventType":"ContextUpdated","runId":"big","correlationId":"c","eventId":"e%d","payload":{"changes":{"x":"%s"}}}\n' "$i" "$filler"
    done
  } >big.ndjson
  "$everstep" log append big.ndjson --store "$work/disk/store" --batch 4 --min-free 0 >answers 2>err
  status=$?
  acknowledged=$(grep -c '"idempotent"' answers)
  cp answers out
  expect "a disk that fills up ends the append with 5 or 6" '((status == 5 || status == 6)) && ((acknowledged > 0 && acknowledged < 1001))'
  mount -o remount,size=256m "$work/disk"
  run log read big --store "$work/disk/store"
  expect "once there is space again, every acknowledged event exists" '((status == 0)) && (($(wc -l <out) >= acknowledged))'
  run log append big.ndjson --store "$work/disk/store" --min-free 0
  expect "the same input is then appended completely" '((status == 0)) && lines 1001'
  run log verify --store "$work/disk/store"
  expect "the store has no faults after a full disk" '((status == 0)) && says "1001 events"'
else
  echo "skipped - a disk that fills up: mounting one needs root"
fi

# ---- demo
run demo
expect "the demo shows a run in under 60 lines" '((status == 0)) && (($(wc -l <out) < 60)) && says "step_retrying" && says "idempotent true"'
expect "the demo keeps its store" '[[ -d $(sed -n 2p out) ]]'
demo_store=$(sed -n 2p out)
tail -n 4 out >commands
expect "the demo suggests commands to continue with" '(($(grep -c " log .* --store $demo_store" commands) == 4))'
while read -r command; do
  bash -c "$command" >out 2>err
  status=$?
  expect "the suggested command works: ${command#* }" '((status == 0)) && [[ -s out ]]'
done < <(sed "s#$TMPDIR#\$TMPDIR#g; s#^[^ ]*#'$everstep'#" commands)
run demo --store "$demo_store"
expect "the demo can be repeated on its store" '((status == 0)) && says "the log still has 15 events"'

((failures == 0)) || echo "$failures failed" >&2
exit $((failures > 0))
