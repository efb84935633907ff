#!/bin/sh
# Stores four things to do, each with its own time: --batch 1 commits each line separately.
set -e
nestc insert ToDo - --batch 1 --name "first things" <<LINES
{"name":"Buy milk"}
{"name":"Water the plants"}
{"name":"Call Ann"}
{"name":"Mend the bicycle"}
LINES
