#!/usr/bin/env bash
# How a server and doctor handle a wall clock that jumps. The clock is a shim in front of libc's: it
# adds the seconds in the file $LEAP to CLOCK_REALTIME.
# Usage: clock.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
unset "${!EVERSTEP_@}" 2>/dev/null
export EVERSTEP_DATA=$work/data LEAP=$work/leap
cat >shim.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec* time) {
  const int done = (int)syscall(SYS_clock_gettime, id, time);
  if (id != CLOCK_REALTIME || done != 0) return done;
  char text[32] = {0};
  const int file = open(getenv("LEAP"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return done;
  if (read(file, text, sizeof(text) - 1) > 0) time->tv_sec += atol(text);
  close(file);
  return done;
}
C
if ! "${CC:-cc}" -shared -fPIC -o shim.so shim.c 2>err; then
  echo "ok - # skip: no C compiler"
  exit 0
fi
leap() { echo "$1" >leap.new && mv leap.new leap; }
leap 0
cat >greet.yaml <<'YAML'
metadata: {planId: greet, planVersion: "1.0"}
steps: [{stepId: hello, kind: echo, inputs: {message: hello}}]
YAML
later=$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)
cat >waits.yaml <<YAML
metadata: {planId: waits, planVersion: "1.0"}
steps: [{stepId: wait, waitFor: {until: "$later"}}]
YAML

# ---- a clock that jumps ahead and returns while a server runs
LD_PRELOAD=$work/shim.so begin server serve --listen 127.0.0.1:0
wait_for "says 'listening on ' server.out"
url=$(sed -n 's/^listening on //p' server.out | head -n 1)
export EVERSTEP_SERVER=$url EVERSTEP_TOKEN_FILE=$work/data/admin-token
run start waits.yaml --run-id early
run doctor
expect "doctor accepts a server with a steady clock" 'says "ok    server"'
leap 10800
wait_for 'run doctor; says "jumped ahead"'
expect "doctor reports a clock that jumped ahead" 'says "warn  server" && says "jumped ahead by 3 h 0 min"'
run show early
expect "a jump ahead fires nothing early" 'says RUNNING'
run run greet.yaml --run-id right
run events right
expect "the wrong time is not written to the log" '! says "T$(date -u -d "+3 hours" +%H:)"'
leap 0
wait_for 'run doctor; says "the clock returned to"'
expect "doctor reports a clock that came back" 'says "warn  server" && says "the clock returned to"'
run show early
expect "still nothing fired" 'says RUNNING'
kill -TERM "$child"
finish server
expect "both raise alerts" 'says CLOCK_JUMPED err'
unset EVERSTEP_SERVER EVERSTEP_TOKEN_FILE

# ---- a process that starts while the clock is ahead, and the correction
export EVERSTEP_DATA=$work/other
run run greet.yaml --run-id before
run doctor
expect "doctor accepts a correct clock" 'says "ok    clock"'
leap 10800
LD_PRELOAD=$work/shim.so run run greet.yaml --run-id ahead
leap 0
run doctor
expect "doctor reports a store with events from the future" 'says "warn  clock" && says "newest event in the store" && says "later"'
run run greet.yaml --run-id after
expect "a store from the future raises an alert" 'says CLOCK_BEHIND_STORE || says CLOCK_BEHIND_STORE err'
run events after --output json
expect "new events have the right time" 'says "$(date -u +%Y-%m-%dT%H:)" || says "$(date -u -d "-1 minute" +%Y-%m-%dT%H:)"'
run log verify --store other/store
expect "the store has no faults" '((status == 0))'

exit $((failures > 0))
