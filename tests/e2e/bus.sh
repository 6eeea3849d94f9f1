#!/usr/bin/env bash
# The event bus with real receivers: a webhook receiver in its own process, nats-server with
# JetStream, files. A sink that is down during a whole load, kill -9 of every side, slow and
# refusing receivers, dead letters through the command line, inbound events.
# usage: bus.sh [PROGRAM [EVENTS [SEED]]]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${1:-${EVERSTEP:-$here/../../build/release/everstep}}")
work=$(mktemp -d)
trap '[[ $BASHPID != "$$" ]] || rm -rf "$work"' EXIT
unset EVERSTEP_STORE EVERSTEP_SERVER EVERSTEP_TOKEN EVERSTEP_TOKEN_FILE EVERSTEP_CA_FILE EVERSTEP_CONFIG

/usr/bin/python3 "$here/bus.py" "$program" "$work" "${2:-100000}" "${3:-20261117}"
