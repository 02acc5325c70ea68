#!/bin/sh
[ $# -eq 0 ] && exec cat
sleep 0.05
echo '{"name":"slow_NUMBER","description":"Takes its time","parameters":{"type":"object","properties":{}}}'
