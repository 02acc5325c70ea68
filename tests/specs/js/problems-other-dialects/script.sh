#!/usr/bin/env -S bash -e
echo hi
