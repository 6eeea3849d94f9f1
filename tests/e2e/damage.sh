#!/usr/bin/env bash
# How commands, doctor, a server and salvage handle a store with damaged files.
# Usage: damage.sh [PROGRAM]. Prints "ok - …" or "not ok - …" for each check; exits 1 if one failed.
set -uo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/checks.bash"
unset "${!EVERSTEP_@}" 2>/dev/null

# newest_log STORE: prints the log file that was written last.
newest_log() { ls "$1"/*.log | tail -n 1; }
# flip FILE: flips a bit in the middle of the file's content.
flip() {
  python3 - "$1" <<'END'
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
data[len(bytes(data).rstrip(b'\0')) // 2] ^= 4
open(sys.argv[1], 'wb').write(data)
END
}

# ---- a server that is killed, and a flipped bit in its log
mkdir data
"$everstep" serve --dev --data data --listen 127.0.0.1:0 >server.out 2>server.err </dev/null &
server=$!
wait_for 'says "listening on" server.out'
url=http://$(sed -n 's#.*listening on http://\([^ ]*\).*#\1#p' server.out | head -n 1)
for i in $(seq 1 30); do
  curl -s "$url/v1/events" -H 'Content-Type: application/json' \
    -d "{\"eventType\":\"RunStarted\",\"runId\":\"run-$i\"}" >answer
done
curl -s -o out -w '%{http_code}' "$url/readyz" >code
expect "a server with an intact store is ready" '[[ $(<code) == 200 ]]'
kill -9 "$server"
wait "$server" 2>/dev/null
cp -r data/store intact
flip "$(newest_log data/store)"
name=$(basename "$(newest_log data/store)")

run serve --dev --data data --listen 127.0.0.1:0
expect "a server refuses a damaged store and says what to do" \
  '((status == 5)) && says STORE_CORRUPT err && says "$name is damaged at byte" err && says "follow the damage" err && says "log salvage" err'
run log verify --store data/store
expect "verify reports the same damage" '((status == 5)) && says "$name is damaged" err'
run doctor --data data
expect "doctor reports the same damage" '((status == 7)) && says "STORE_CORRUPT" && says "$name is damaged"'
run ls --data data
expect "a list of runs is refused rather than incomplete" '((status == 5)) && says STORE_CORRUPT err'

run log salvage rescued --store data/store
expect "salvage copies what is intact" '((status == 7)) && says "$name is damaged" && says "copied 29 runs, 29 events"'
run log verify --store rescued
expect "the salvaged store has no faults" '((status == 0)) && says "no faults in 29 runs"'
run log salvage rescued --store data/store
expect "salvage overwrites nothing" '((status == 5)) && says STORE_EXISTS err'
mkdir near near/new.gathered near/new.partial
echo precious | tee near/new.gathered/file near/new.partial/file >near/new.after-gaps.jsonl
run log salvage near/new/ --store data/store
expect "salvage does not overwrite files with similar names" '((status == 5)) && says STORE_EXISTS err && says after-gaps err'
rm near/new.after-gaps.jsonl
run log salvage near/new/ --store data/store
expect "a slash at the end of a name does not matter" '((status == 7)) && [[ -e near/new/CURRENT ]]'
expect "salvage leaves neighbouring files unchanged" '[[ $(cat near/new.gathered/file near/new.partial/file) == $'"'precious\nprecious'"' && $(ls near | wc -l) == 3 ]]'
run log salvage data/store/inside --store data/store
expect "salvage writes nothing into the damaged store" '((status == 2)) && says "lies in the damaged store" err && [[ ! -e data/store/inside ]]'
run log salvage whole --store intact
expect "salvage of an intact store misses nothing" '((status == 0)) && says "copied 30 runs, 30 events; nothing is missing"'

# ---- a log file that is removed, with and without an owner
rm "$(newest_log data/store)"
run log verify --store data/store
expect "a missing log file is named" '((status == 5)) && says "$name is missing" err'
mkdir alive
cp -r intact alive/store
"$everstep" serve --dev --data alive --listen 127.0.0.1:0 >server.out 2>server.err </dev/null &
server=$!
wait_for 'says "listening on" server.out'
url=http://$(sed -n 's#.*listening on http://\([^ ]*\).*#\1#p' server.out | head -n 1)
curl -s "$url/v1/events" -H 'Content-Type: application/json' \
  -d '{"eventType":"RunStarted","runId":"late"}' >answer
rm "$(newest_log alive/store)" alive/store/LOCK
curl -s -o out -w '%{http_code}' "$url/readyz" >code
expect "a server whose log file is removed is not ready" '[[ $(<code) == 503 ]] && says STORE_STOPPED'
EVERSTEP_SERVER=$url run doctor
expect "doctor reports that the server is not ready" '((status == 7)) && says "fail  server" && says "not ready"'
for code in INDETERMINATE STORE_STOPPED; do
  curl -s -o out -w '%{http_code}' "$url/v1/events" -H 'Content-Type: application/json' \
    -d '{"eventType":"RunStarted","runId":"refused"}' >status
  expect "a write is answered with $code" '[[ $(<status) == 503 ]] && says "$code"'
done
wait_for 'curl -s "$url/v1/alerts" >out; says STORE_STOPPED'
expect "an alert names the file" 'says STORE_STOPPED && says "was removed, replaced or cut off"'
expect "the server's log reports it too" 'says STORE_STOPPED server.err || says STORE_STOPPED server.out'
run log append --store alive/store --lock-timeout 0s
expect "a removed lock file does not allow a second owner" '((status == 5)) && says STORE_LOCKED err && says "$server" err'
kill -9 "$server"
wait "$server" 2>/dev/null
run log verify --store alive/store
expect "nothing is lost with the log file" '((status == 0)) && says "no faults in 31 runs"'

# ---- a store that is moved away and replaced while a server has it open
mkdir moved
cp -r intact moved/store
start() {
  "$everstep" serve --dev --data moved --listen 127.0.0.1:0 >server.out 2>server.err </dev/null &
  server=$!
  wait_for 'says "listening on" server.out'
  url=http://$(sed -n 's#.*listening on http://\([^ ]*\).*#\1#p' server.out | head -n 1)
}
start
mv moved/store moved/store.bad
run log restore intact --store moved/store
run serve --dev --data moved --listen 127.0.0.1:0
expect "a second server on the folder is refused" '((status == 5)) && says STORE_LOCKED err && says "process $server" err'
run doctor --data moved
expect "doctor reports that the owner has another store open" '((status == 7)) && says "does not have moved/store open"'
curl -s -o out -w '%{http_code}' "$url/v1/events" -H 'Content-Type: application/json' \
  -d '{"eventType":"RunStarted","runId":"late"}' >code
expect "the first server acknowledges nothing more" '[[ $(<code) == 503 ]] && says INDETERMINATE'
kill "$server"
wait "$server" 2>/dev/null
run log verify --store moved/store
expect "the restored store is untouched" '((status == 0)) && says "no faults in 30 runs"'

# ---- a store that is gone
start
kill "$server"
wait "$server" 2>/dev/null
rm -r moved/store
run serve --dev --data moved --listen 127.0.0.1:0
expect "a lost store is not taken for a new one" \
  '((status == 4)) && says STORE_NOT_FOUND err && says "log restore BACKUP --store moved/store" err && says "remove moved/has-store" err'
run doctor --data moved
expect "doctor reports that the store is gone" '((status == 7)) && says STORE_NOT_FOUND && says "moved/has-store"'
run token create --data moved --role admin
run serve --dev --data moved --listen 127.0.0.1:0
expect "other commands do not create one either" '((status == 4)) && [[ ! -e moved/store ]]'
mkdir moved/store
run serve --dev --data moved --listen 127.0.0.1:0
expect "an emptied store is not taken for a new one" '((status == 4)) && says STORE_NOT_FOUND err'
run log restore intact --store moved/store
expect "a backup is restored in its place" '((status == 0))'
rm -r moved/store moved/has-store
start
expect "without the note a new store begins" 'says "listening on" server.out'
kill "$server"
wait "$server" 2>/dev/null

# ---- salvage without the files that lead to tables and logs
for lost in CURRENT FORMAT "MANIFEST-*" "CURRENT FORMAT MARK MANIFEST-*"; do
  rm -rf torn torn-new
  cp -r intact torn
  (cd torn && rm $lost)
  run log salvage torn-new --store torn
  expect "salvage does not need $lost" '((status == 7)) && says "copied 30 runs, 30 events; all tables and log files could be read"'
done

exit $((failures > 0))
