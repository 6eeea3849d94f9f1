#!/usr/bin/env bash
# Runs every command shown in the documents: lines that begin with "$ " inside ```console blocks of
# README.md and docs/, with their continuation (a backslash, a here-document). The commands of a
# document run in order, in one directory, with `everstep` on the path; exported variables stay set
# for later commands. A command must exit with 0, or with the code in a comment "# exit N" after it.
# Lines below a command, if any, must match its output; "..." matches anything: on its own line any
# number of lines, inside a line any text. A free port replaces the server's usual one; processes
# whose ids are in files *.pid are ended with the document.
# Usage: docs.sh [PROGRAM]
set -uo pipefail

program=${1:-${EVERSTEP:?the path of the program}}
source_dir=${EVERSTEP_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d)
end_processes() {
  for file in "$work"/places/*/*.pid "$work"/places/*/*/*.pid; do
    [[ -e $file ]] && kill -9 "$(<"$file")" 2>/dev/null && rm -f "$file"
  done
}
trap '[[ $BASHPID != "$$" ]] || { end_processes; rm -rf "$work"; }' EXIT
mkdir "$work/bin" "$work/tmp"
ln -s "$(realpath "$program")" "$work/bin/everstep"
unset "${!EVERSTEP_@}"
export PATH=$work/bin:$PATH TMPDIR=$work/tmp LC_ALL=C.UTF-8
failures=0
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')

# Writes the commands of a document to files N.command and N.expected.
take_commands() {
  awk -v into="$2" '
    /^```console *$/ { inside = 1; expected = ""; next }
    /^```/ { inside = 0; next }
    inside && /^\$ / {
      ++count
      command = into "/" sprintf("%03d", count)
      print substr($0, 3) >(command ".command")
      expected = command ".expected"
      continues = /\\$/
      here = ""
      if (match($0, /<<.?[A-Z]+/)) { here = substr($0, RSTART + 2, RLENGTH - 2); gsub(/[^A-Z]/, "", here) }
      next
    }
    inside && here != "" {
      print >(command ".command")
      if ($0 == here) here = ""
      next
    }
    inside && continues { print >(command ".command"); continues = /\\$/; next }
    inside && expected != "" { print >expected }' "$1"
}

# matches EXPECTED GOT: a line "..." matches any number of lines.
matches() {
  python3 - "$1" "$2" <<'PYTHON'
import re, sys
def lines(path):
    return open(path, encoding="utf-8").read().rstrip("\n").split("\n")
pattern = ""
for line in lines(sys.argv[1]):
    if line.strip() == "...":
        pattern += r"(?:.*\n)*?"
    else:
        pattern += ".*?".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ ]*\n"
got = "\n".join(lines(sys.argv[2])) + "\n"
sys.exit(0 if re.fullmatch(pattern, got) else 1)
PYTHON
}

# Runs a command of a document in the environment left by the commands before it.
shell='[[ -e $2 ]] && source "$2"
source "$1"
code=$?
export -p >"$2"
exit $code'

for document in "$source_dir"/README.md "$source_dir"/docs/*.md; do
  [[ -e $document ]] || continue
  name=${document#"$source_dir"/}
  commands=$work/commands/$name
  place=$work/places/$name
  mkdir -p "$commands" "$place"
  take_commands <(sed "s/127\\.0\\.0\\.1:7377/127.0.0.1:$port/g" "$document") "$commands"
  for file in "$commands"/*.command; do
    [[ -e $file ]] || continue
    command=$(cat "$file")
    # Commands that build and test the project are skipped: they run this script.
    [[ $command == make\ * || $command == git\ * ]] && continue
    wanted=$(sed -n 's/.*# exit \([0-9]*\)$/\1/p' "$file" | tail -n 1)
    (cd "$place" && timeout 60 bash -c "$shell" run "$file" "$commands/variables") \
      >"$work/got" 2>&1 </dev/null
    status=$?
    sentence="$name: $(head -n 1 "$file")"
    expected=${file%.command}.expected
    if ((status != ${wanted:-0})); then
      echo "not ok - $sentence"
      echo "#   exit code $status, not ${wanted:-0}"
    elif [[ -e $expected ]] && ! matches "$expected" "$work/got"; then
      echo "not ok - $sentence"
      echo "#   the output differs from the document:"
    else
      echo "ok - $sentence"
      continue
    fi
    failures=$((failures + 1))
    sed 's/^/#   /' "$work/got" | head -n 20
  done
  end_processes
done
exit $((failures > 0))
