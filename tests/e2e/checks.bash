# Shared by the scripts in this folder; to be sourced with the arguments of the script: [PROGRAM].
# Changes into a new temporary directory ($work) with an environment that does not depend on the
# user's, and sets $everstep to the program. A script ends with: exit $((failures > 0))

everstep=$(realpath "${1:-${EVERSTEP:?the path of the program}}")
work=$(mktemp -d)
children=()
cleanup() {
  # A child that is signalled right after its fork, before it is another program, runs this too.
  [[ $BASHPID == "$$" ]] || return
  for child in "${children[@]}"; do kill -9 "$child" 2>/dev/null; done
  rm -rf "$work"
}
trap cleanup EXIT
cd "$work" || exit 1
unset EVERSTEP_STORE EVERSTEP_SERVER EVERSTEP_TOKEN EVERSTEP_TOKEN_FILE EVERSTEP_CA_FILE EVERSTEP_CONFIG
unset NO_COLOR XDG_STATE_HOME
export LC_ALL=C.UTF-8 TMPDIR=$work/tmp HOME=$work/home EVERSTEP_DATA=$work/data
mkdir "$TMPDIR" "$HOME"
failures=0

# run ARGUMENT...: runs the program without standard input; sets $status and writes out and err.
run() {
  timeout 30 "$everstep" "$@" >out 2>err </dev/null
  status=$?
}
# begin NAME ARGUMENT...: runs the program in the background, with NAME.out and NAME.err; sets
# $child.
begin() {
  local name=$1
  shift
  "$everstep" "$@" >"$name.out" 2>"$name.err" </dev/null &
  child=$!
  children+=("$child")
}
# finish NAME: waits for $child; sets $status and writes out and err.
finish() {
  wait "$child"
  status=$?
  cp "$1.out" out
  cp "$1.err" err
}
# expect SENTENCE CONDITION: checks a shell condition.
expect() {
  if eval "$2"; then
    echo "ok - $1"
  else
    failures=$((failures + 1))
    echo "not ok - $1"
    echo "#   condition: $2"
    echo "#   exit code: ${status:-}"
    sed 's/^/#   out: /' out | head -n 12
    sed 's/^/#   err: /' err | head -n 8
  fi
}
says() { grep -qF -- "$1" "${2:-out}"; }
lines() { (($(wc -l <"${2:-out}") == $1)); }
# wait_for CONDITION: waits up to ten seconds.
wait_for() {
  for _ in $(seq 200); do
    eval "$1" && return 0
    sleep 0.05
  done
  return 1
}
