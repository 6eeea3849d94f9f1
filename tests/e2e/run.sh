#!/usr/bin/env bash
# Running plans from the outside: the data folder, its owner and visitors, the output, and what
# happens when a run is interrupted or its process killed.
# Usage: run.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
json() { python3 -c "import json,sys;v=json.load(open('out'));sys.exit(0 if ($1) else 1)"; }
# The newest run of a plan.
newest() { "$everstep" ls --plan "$1" --limit 1 --output json | sed -n 's/.*"runId": "\(.*\)",/\1/p'; }

# ---- plans
cat >greet.yaml <<'YAML'
metadata: {planId: greet, planVersion: "1.0"}
inputs:
  name: {type: string, default: you, description: who is greeted}
  times: {type: integer, default: 1}
steps:
  - {stepId: hello, kind: echo, inputs: {message: "hello {{ inputs.name }}"}}
  - {stepId: bye, kind: echo, inputs: {message: "{{ steps.hello.result.message }}, bye"}}
outputs: {said: "{{ steps.bye.result.message }}", times: "{{ inputs.times }}"}
YAML
# Each step records that it ran; a step that was started and killed is recorded again, a completed
# one never.
cat >slow.yaml <<YAML
metadata: {planId: slow, planVersion: "1.0"}
steps:
  - {stepId: one, kind: shell, inputs: {command: "echo one >>$work/effects; sleep 0.5"}}
  - {stepId: two, kind: shell, inputs: {command: "echo two >>$work/effects; sleep 0.5"}}
  - {stepId: three, kind: shell, inputs: {command: "echo three >>$work/effects; sleep 0.5"}}
YAML
cat >stuck.yaml <<YAML
metadata: {planId: stuck, planVersion: "1.0"}
steps:
  - {stepId: hang, kind: shell, inputs: {command: "echo \$\$ >$work/hanging; exec sleep 60"}}
YAML
cat >lazy.yaml <<YAML
metadata: {planId: lazy, planVersion: "1.0"}
steps:
  - {stepId: one, kind: shell, inputs: {command: "touch $work/lazy; sleep 2"}}
  - {stepId: two, kind: noop}
YAML
cat >fails.yaml <<'YAML'
metadata: {planId: fails, planVersion: "1.0"}
steps:
  - {stepId: broken, kind: shell, inputs: {command: "exit 3"}}
  - {stepId: never, kind: echo, inputs: {message: unreachable}}
YAML
cat >retries.yaml <<YAML
metadata: {planId: retries, planVersion: "1.0"}
steps:
  - stepId: flaky
    kind: shell
    inputs: {command: "test -e $work/tried || { touch $work/tried; exit 1; }"}
    retryPolicy: {maxAttempts: 3, backoff: none, initialDelay: 200ms, retryOn: [EXIT_STATUS]}
  - stepId: many
    foreach: "{{ [1, 2, 3, 4, 5] }}"
    kind: echo
    inputs: {message: "{{ item }}"}
YAML
cat >asks.yaml <<'YAML'
metadata: {planId: asks, planVersion: "1.0"}
inputs: {token: {type: string, default: payment}}
steps:
  - {stepId: payment, waitFor: {hook: {token: "{{ inputs.token }}", timeout: 1h}}}
  - {stepId: book, kind: echo, inputs: {paid: "{{ steps.payment.result }}"}}
outputs: {paid: "{{ steps.book.result.paid }}"}
YAML
cat >signs.yaml <<'YAML'
metadata: {planId: signs, planVersion: "1.0", requiresApproval: true}
steps:
  - {stepId: sign-off, waitFor: {approval: {prompt: "Go?", timeout: 1h}}}
YAML
cat >holds.yaml <<YAML
metadata: {planId: holds, planVersion: "1.0"}
steps:
  - {stepId: load, kind: shell, inputs: {command: "test -e $work/loadable"}, onFailure: hold}
  - {stepId: report, kind: echo, inputs: {message: loaded}}
YAML
cat >broken.yaml <<'YAML'
metadata: {planId: broken, planVersion: "1.0"}
steps:
  - {stepId: a, kind: echo, dependsOn: [b]}
  - {stepId: c, kind: echo, inputs: {message: "{{ 1 + }}"}}
YAML

# ---- plan check, plan graph
run plan check greet.yaml fails.yaml
expect "a valid plan is reported as valid, with its inputs" \
  '((status == 0)) && says "greet.yaml: ok: plan greet 1.0, 2 steps" && says "who is greeted" && says "fails.yaml: ok"'
run plan check broken.yaml greet.yaml
expect "all faults of a plan are named with line and column" \
  '((status == 3)) && grep -qE "^broken.yaml:3:[0-9]+: error: " out && grep -qE "^broken.yaml:4:[0-9]+: error: " out && says "greet.yaml: ok"'
run plan check broken.yaml --output json
expect "faults can be printed as JSON" '((status == 3)) && json "not v[0][\"ok\"] and {f[\"line\"] for f in v[0][\"faults\"]} >= {3, 4}"'
sed 's/kind: echo/kind: train-model/' greet.yaml >trained.yaml
run plan check trained.yaml
expect "an unknown kind is refused" '((status == 3)) && says "there is no tool" && says train-model'
run plan check --workers trained.yaml
expect "an unknown kind is accepted with --workers" '((status == 0)) && says "trained.yaml: ok"'
run plan check nowhere.yaml
expect "a missing plan exits 4" '((status == 4)) && says "nowhere.yaml"'
run plan graph greet.yaml
expect "a plan is drawn for the terminal" '((status == 0)) && says hello && says bye'
run plan graph greet.yaml --form mermaid
expect "a plan is drawn as Mermaid" '((status == 0)) && grep -qE "^(flowchart|graph) " out'
run plan graph greet.yaml --form dot
expect "a plan is drawn as DOT" '((status == 0)) && grep -qE "^digraph " out'

# ---- run
run ls
expect "there is no store before the first run" '((status == 4)) && says STORE_NOT_FOUND err && [[ ! -e data ]]'
run run greet.yaml --input name=Ada
expect "a plan runs to its end" '((status == 0)) && says "completed" && says "hello Ada, bye" && says "is COMPLETED after"'
greeted=$(newest greet)
expect "the run's id consists of plan, inputs and number" '[[ $greeted =~ ^greet-[0-9a-f]{8}-1$ ]]'
expect "the data folder is for its user only" '[[ $(stat -c %a data) == 700 && -d data/store ]]'
expect "the socket is removed when its process ends" '[[ ! -e data/owner.sock ]]'
run run greet.yaml --input name=Ada --no-watch
expect "running a completed plan again starts the next run" \
  '((status == 0)) && ! says started && [[ $(newest greet) == "${greeted%-1}-2" ]]'
run run greet.yaml --input name=Bea --no-watch
expect "other inputs give other runs" '((status == 0)) && [[ $(newest greet) != "${greeted%-*}"* ]]'
echo '{"name":"Cyd","times":2}' >inputs.json
run run greet.yaml --input-file inputs.json --input times=3 --run-id mine --output json
expect "inputs come from a file, options override it, events as NDJSON" \
  '((status == 0)) && says "\"runId\":\"mine\"" && says RunCompleted && ! grep -qv "^{" out'
run show mine
expect "show prints inputs, steps and result" \
  '((status == 0)) && says "\"times\":3" && says "✔ hello" && says "hello Cyd, bye"'
run run greet.yaml --run-id mine
expect "a run that has ended is shown, not run again" '((status == 0)) && says "mine had already ended" && says COMPLETED'
run run greet.yaml --input nonsense
expect "an input without a value is a usage error" '((status == 2)) && says "NAME=VALUE" err'
run run greet.yaml --input nobody=1
expect "an unknown input is bad input" '((status == 3)) && says INVALID_INPUT err && says nobody err'
run run broken.yaml
expect "a plan with faults does not run" '((status == 3)) && says "broken.yaml:3:" err'
run run fails.yaml
expect "a failed run exits 1 and says why" '((status == 1)) && says "is FAILED" && says EXIT_STATUS'
run run retries.yaml
expect "a retry and a loop are reported" \
  '((status == 0)) && says "will retry" && says "started, attempt 2" && says "5/5"'
echo hidden | timeout 10 "$everstep" secret set billing/key >out 2>err
status=$?
expect "a secret is stored" '((status == 0)) && says "version 1" && [[ $(stat -c %a data/secrets) == 600 ]]'
run secret list
expect "secrets are listed by name" '((status == 0)) && says billing/key && ! says hidden'
run secret remove billing/key
expect "and removed" '((status == 0)) && run secret list && ! says billing/key'
for nothing in '\r\n' '\0' ''; do
  printf "$nothing" | timeout 10 "$everstep" secret set nothing >out 2>err
  status=$?
  expect "a secret without a value is refused" '((status == 2)) && says "no value for a secret" err'
done
timeout 10 "$everstep" secret set nothing >out 2>err <&-
status=$?
expect "so is a closed standard input" '((status == 2)) && says "standard input cannot be read" err'
mv data/secrets data/away
run secret list
expect "a lost file of secrets is an error" '((status == 4)) && says "secrets is missing" err'
echo hidden | timeout 10 "$everstep" secret set billing/key >out 2>err
status=$?
expect "and is not begun anew" '((status == 4)) && [[ ! -e data/secrets ]]'
mv data/away data/secrets
mv data/secrets.key data/away
echo hidden | timeout 10 "$everstep" secret set billing/key >out 2>err
status=$?
expect "a lost key is not replaced" '((status == 4)) && says "secrets.key is missing" err && [[ ! -e data/secrets.key ]]'
run doctor
expect "doctor reports it" '((status == 7)) && says "fail  secrets"'
mv data/away data/secrets.key
run doctor
expect "doctor reads the secrets" 'says "ok    secrets"'

# ---- reading a store that no process has open
run ls --status completed
expect "ls lists runs by status" '((status == 0)) && says mine && ! says fails-'
run show mine --output json
expect "show has a JSON form" 'json "v[\"status\"] == \"COMPLETED\" and len(v[\"steps\"]) == 2"'
run events mine --type StepCompleted --dialect devkit
expect "events can be printed in any dialect" '((status == 0)) && lines 2 && says step_completed'
retried=$(newest retries)
run timeline "$retried"
expect "timeline draws a bar for each step, with separate attempts and hatched waits" \
  '((status == 0)) && grep -qE "^flaky .*▒.*, 2 attempts$" out && grep -qE "^many .*█" out && says "┃"'
run timeline "$retried" --ascii --items
expect "in ASCII too, with the turns of loops" '((status == 0)) && ! LC_ALL=C grep -qP "[^\x00-\x7F]" out && says many:4'
run timeline mine --events
expect "or a line for each event" '((status == 0)) && says "completed"'
run replay mine --to 2
expect "replay shows the state as of an event and the events around it" \
  '((status == 0)) && says RUNNING && says "Then" && says "events   2"'
run replay mine --to 999
expect "replay beyond the end is refused" '((status == 2))'
run why mine
expect "why reports that a run has ended" '((status == 0)) && says "complete"'
run signal mine pause
expect "a signal to a run that has ended is refused" '((status == 1)) && says RUN_TERMINAL err'
run signal mine explode
expect "a signal that does not exist is a usage error" '((status == 2)) && says "RETRY_STEP" err'
run show nobody
expect "a run that does not exist exits 4" '((status == 4)) && says RUN_NOT_FOUND err'
run deliver nobody
expect "an unknown token exits 4" '((status == 4)) && says HOOK_NOT_FOUND err'

# ---- killed and restarted
begin killed run slow.yaml
wait_for 'says two effects 2>/dev/null'
kill -9 "$child"
finish killed 2>/dev/null
slow=$(newest slow)
run show "$slow"
expect "a killed run keeps its state" '((status == 0)) && says RUNNING && says "✔ one"'
run why "$slow"
expect "why says what it waits for" '((status == 0)) && says "two"'
run run slow.yaml
expect "the same command continues the run" '((status == 0)) && says "continuing with $slow" && says "is COMPLETED"'
expect "a completed step is not run again, an interrupted one is" \
  '(($(grep -c one effects) == 1 && $(grep -c two effects) == 2 && $(grep -c three effects) == 1))'

# ---- interrupted and restarted
rm effects
begin paused run slow.yaml
wait_for 'says one effects 2>/dev/null'
kill -INT "$child"
finish paused
slow=$(newest slow)
expect "Ctrl-C pauses the run after the running step: exit 9" \
  '((status == 9)) && says "is PAUSED" && says "continue with: everstep run slow.yaml" && lines 1 effects'
run signal "$slow" resume
expect "a run without a process can be resumed" '((status == 0)) && says ACCEPTED'
run signal "$slow" PAUSE --reason "not today" --signal-id s-1
expect "a run without a process can be paused" '((status == 0)) && says ACCEPTED'
run signal "$slow" pause --reason "not today" --signal-id s-1
expect "the same signal id counts once" '((status == 0)) && says "already decided"'
run why "$slow"
expect "why names the pause and its reason" '((status == 0)) && says "not today" && says "everstep signal $slow resume"'
run run slow.yaml
expect "the same command resumes a paused run" '((status == 0)) && says resumed && lines 3 effects'
begin cancelled run lazy.yaml
wait_for '[[ -e lazy ]]'
kill -TERM "$child"
wait_for 'says pausing cancelled.out'
sleep 0.6
kill -INT "$child"
finish cancelled
expect "the second interrupt cancels: exit 8" '((status == 8)) && says "is CANCELLED"'
rm lazy
begin twice run lazy.yaml
wait_for '[[ -e lazy ]]'
kill -TERM "$child"
kill -INT "$child"
sleep 0.2
kill -TERM "$child"
finish twice
expect "simultaneous interrupts count as one: exit 9" '((status == 9)) && says "is PAUSED" && ! says cancelling'

# ---- an owner and its visitors
begin owner run asks.yaml --run-id asked
owner=$child
wait_for 'says "everstep deliver payment" owner.out'
expect "a waiting step shows the command to answer it" 'says "everstep deliver payment" owner.out'
expect "the owner has a socket for its user only" '[[ $(stat -c %a data/owner.sock) == 600 ]]'
run show asked
expect "show asks the owner" '((status == 0)) && says RUNNING && says "⚑ payment"'
run why asked --output json
expect "why asks the owner" 'json "v[\"blockers\"][0][\"kind\"] == \"hook\" and v[\"blockers\"][0][\"causeSeq\"] > 0"'
run ls --status running
expect "ls asks the owner" '((status == 0)) && says asked'
run timeline asked
expect "timeline asks the owner" '((status == 0)) && grep -qE "^payment .*▒" out'
run replay asked --to 1
expect "replay asks the owner" '((status == 0)) && says asked'
run run greet.yaml --input name=Dan
expect "a second run goes to the owner" '((status == 0)) && says "hello Dan, bye"'
expect "the owner keeps running" 'kill -0 $owner && [[ -e data/owner.sock ]]'
run run fails.yaml --no-watch
expect "the exit code of a run at the owner is passed on" '((status == 1)) && says "is FAILED"'
run run greet.yaml --input nobody=1
expect "errors of a run at the owner are passed on" '((status == 3)) && says nobody err'
run signal asked pause
expect "a signal goes to the owner" '((status == 0)) && says ACCEPTED'
run signal asked resume
expect "so does the next signal" '((status == 0)) && wait_for "says resumed owner.out"'
printf '{"eventType":"RunStarted","runId":"x"}\n' | timeout 10 "$everstep" log append \
  --store data/store --lock-timeout 100ms >out 2>err
status=$?
expect "a second owner is refused, and the first one is named" \
  '((status == 5)) && says STORE_LOCKED err && says "process $owner" err'
begin follower events asked --follow --output ndjson
follower=$child
wait_for 'says HookCreated follower.out'
begin visitor run slow.yaml --run-id visited
visitor=$child
wait_for 'says started visitor.out'
run deliver payment --payload '{"amount":7}'
expect "deliver answers the step" '((status == 0)) && says "delivered to asked"'
child=$owner
finish owner
expect "the owner ends with its own run" '((status == 0)) && says "\"amount\":7"'
child=$visitor
finish visitor
expect "the visitor continues its run when the owner has ended" '((status == 0)) && says "continuing with visited" && says "is COMPLETED"'
wait_for 'says RunCompleted follower.out'
kill -INT "$follower"
child=$follower
finish follower
expect "followed events are neither lost nor repeated" \
  '((status == 130)) && says RunCompleted && (($(sort out | uniq -d | wc -l) == 0))'

begin stopped run asks.yaml --run-id asked-again --input token=again
wait_for 'says "deliver again" stopped.out'
kill -STOP "$child"
run ls --lock-timeout 100ms
expect "readers work although the owner does not answer" '((status == 0)) && says asked-again'
run why asked-again --lock-timeout 100ms
expect "others get an error that names the owner" '((status == 5)) && says "process $child" err && says "does not answer" err'
kill -CONT "$child"
run deliver again
finish stopped
expect "the owner continues later" '((status == 0))'

# ---- alerts
begin alarmed run stuck.yaml --run-id alarmed
wait_for '[[ -s hanging ]]'
begin stopper run asks.yaml --run-id bystander --input token=bystander
bystander=$child
wait_for 'says "deliver bystander" stopper.out'
run signal alarmed EMERGENCY_STOP --reason "smells of smoke"
expect "an emergency stop is accepted" '((status == 0)) && says ACCEPTED'
child=${children[-2]}
finish alarmed
expect "it raises an alert where the run is watched: exit 8" \
  '((status == 8)) && says "alert P1 DESTRUCTIVE_SIGNAL, run alarmed: EMERGENCY_STOP: smells of smoke"'
expect "the step's program was killed" '! kill -0 "$(cat hanging)" 2>/dev/null'
run deliver bystander
child=$bystander
finish stopper
expect "a visitor sees no alerts of other runs" '((status == 0)) && ! says alert'

# ---- approvals, held steps
begin signs run signs.yaml --run-id signed
wait_for 'says "everstep approve signed" signs.out'
run approve signed --reason fine
expect "a run can be approved" '((status == 0)) && wait_for "says \"everstep deliver\" signs.out"'
token=$(sed -n 's/.*everstep deliver \([^ ]*\).*/\1/p' signs.out | tail -n 1)
run deliver "$token" --reject --comment "too early"
finish signs
expect "a rejected approval fails the run" '((status == 1)) && says "too early"'
begin holds run holds.yaml --run-id held
wait_for 'says EXIT_STATUS holds.out'
run why held
expect "why names the held step and how to continue" '((status == 0)) && says "held" && says "retry --step load"'
run signal held retry --step load --role Viewer
expect "a viewer may not retry" '((status == 1)) && says AUTHZ_DENIED'
touch loadable
run signal held retry --step load
finish holds
expect "a retried step continues" '((status == 0)) && says "is COMPLETED"'

# ---- the folder
run run greet.yaml --data "$work/other" --no-watch
expect "--data names another folder" '((status == 0)) && [[ -d other/store ]]'
EVERSTEP_DATA='' XDG_STATE_HOME=$work/state run run greet.yaml --no-watch
expect "the XDG state folder is the default" '((status == 0)) && [[ -d state/everstep/store ]]'
EVERSTEP_DATA='' run run greet.yaml --no-watch
expect "without it, the state folder is below the home folder" '((status == 0)) && [[ -d home/.local/state/everstep/store ]]'
long=$work/$(printf 'long%.0s' $(seq 40))
begin long run asks.yaml --run-id deep --data "$long"
wait_for 'says "deliver payment --data" long.out || says "deliver" long.out'
run deliver payment --data "$long"
finish long
expect "a socket works in a folder with a long name" '((status == 0)) && says "is COMPLETED"'

# ---- on a terminal
cat >screen.py <<'PYTHON'
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 40, 0, 0))
seen = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    seen += piece
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
cat >widths.py <<'PYTHON'
import re, sys
text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", open("out", encoding="utf-8", newline="").read())
drawing = text.split(" is COMPLETED")[0].split("\n")[:-1]  # what stands below is text
sys.exit(any(len(line.strip("\r")) > int(sys.argv[1]) for line in drawing))
PYTHON
rm -f tried effects
TERM=xterm timeout 20 python3 screen.py "$everstep" run retries.yaml --new >out 2>err
status=$?
expect "on a terminal the tree is redrawn in place, in colour" \
  '((status == 0)) && grep -qP "\x1b\[[0-9]+A" out && grep -qP "\x1b\[32m" out && says "(2/3)"'
expect "no line is wider than the terminal" \
  'python3 widths.py 40'
TERM=xterm NO_COLOR=1 timeout 20 python3 screen.py "$everstep" run greet.yaml --new >out 2>err
status=$?
expect "NO_COLOR is respected" '((status == 0)) && ! grep -qP "\x1b\[[0-9;]+m" out'

exit $((failures > 0))
