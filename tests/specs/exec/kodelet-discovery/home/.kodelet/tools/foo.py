#!/bin/sh
if [ "$1" = description ]; then
  echo '{"name":"hello","description":"A test tool","input_schema":{"type":"object"}}'
  exit
fi
echo global
