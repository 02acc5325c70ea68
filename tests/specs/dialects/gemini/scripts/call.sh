#!/bin/sh
echo "$1 in $(basename "$(dirname "$0")")"
