#!/bin/sh
# Brings people and numbers in from a file of lines "name TAB number", all in one transaction. Whoever is there is found and
# stays as they are: run it twice, and the second run creates nothing.
set -e
file=${1:-$(dirname "$0")/people.txt}
results=$(awk -F '\t' '{
    gsub(/[\\"]/, "\\\\&")
    printf "{\"findOrCreate\":\"User\",\"match\":{\"name\":\"%s\"},\"as\":\"user %d\"}\n", $1, NR
    printf "{\"findOrCreate\":\"Phone\",\"match\":{\"number\":\"%s\"},\"values\":{\"user\":\"user %d\"}}\n", $2, NR
}' "$file" | nestc tx - --quiet --name "import $(basename "$file")")
printf '%s\n' "$results" | cut -f 2 | sort | uniq -c
