#!/bin/sh
# Four things to do, each with a time of its own: --batch 1 stores one line after the other.
set -e
nestc insert ToDo - --batch 1 --name "first things" <<LINES
{"name":"Buy milk"}
{"name":"Water the plants"}
{"name":"Call Ann"}
{"name":"Mend the bicycle"}
LINES
