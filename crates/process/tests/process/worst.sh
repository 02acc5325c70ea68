#!/bin/sh
# The worst programs that a host can meet, by the first argument. Those above the line end by themselves.
ulimit -c 0
case $1 in
  signal) kill -"$2" $$ ;;
  closed) exec <&- true ;;
  deaf-input) exec true ;;
  both) cat; head -c 300000 /dev/zero >&2; exit 3 ;;
  flood) yes | head -c 200000000 ;;
  background) sleep 600 & exit 0 ;;
  # ----
  deaf) trap '' TERM; exec sleep 600 ;;
  deaf-and-ignoring) trap '' TERM INT HUP; while :; do sleep 600; done ;;
  stopped) kill -STOP $$ ;;
  endless) exec yes ;;
  both-endless) yes >&2 & exec yes ;;
  holders) for _ in 1 2 3; do sleep 600 & done; trap 'exit 7' TERM; wait ;;
  deaf-holders) trap '' TERM; for _ in 1 2 3; do sleep 600 & done; wait ;;
  session) setsid sh -c 'trap "" TERM; sleep 600; :' & wait ;;
  other-group) (timeout 600 sleep 600 &); exec sleep 600 ;;
  half-daemon) (setsid sleep 600 &); exec sleep 600 ;;
  many) n=0; while [ $n -lt 10 ]; do (timeout 600 sleep 600 &); n=$((n + 1)); done; exec sleep 600 ;;
esac
