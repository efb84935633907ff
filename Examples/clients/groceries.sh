#!/bin/sh
set -e
ids=$(nestc tx - --name "plan the shopping" <<STEPS
{"insert":"Item","values":{"title":"Groceries","parent":1},"as":"list"}
{"insert":"Item","values":{"title":"Milk","parent":"list"}}
{"insert":"Item","values":{"title":"Bread","parent":"list"}}
{"insert":"Item","values":{"title":"Eggs","parent":"list"}}
STEPS
)
set -- $(echo "$ids" | cut -f 1)
list=$1 milk=$2

nestc subscribe --parent "$list" --where 'done == NO' --json --count 3 | while read -r change; do
    titles=$(nestc fetch --parent "$list" --where 'done == NO' --properties title | cut -f 2)
    case $change in
    '{"event":"snapshot"'*)
        echo snapshot: $titles
        nestc set "$milk" done=yes --name "buy milk" ;;
    *)
        echo diff: $titles
        case $titles in Milk*) ;; *) nestc undo ;; esac ;;
    esac
done
