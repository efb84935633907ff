#!/bin/sh
# Imports people and numbers from a file of lines "name TAB number", in one transaction. Existing people and numbers are
# found and stay as they are: a second run creates nothing.
set -e
file=${1:-$(dirname "$0")/people.txt}
results=$(awk -F '\t' '{
    gsub(/[\\"]/, "\\\\&")
    printf "{\"findOrCreate\":\"User\",\"match\":{\"name\":\"%s\"},\"as\":\"user %d\"}\n", $1, NR
    printf "{\"findOrCreate\":\"Phone\",\"match\":{\"number\":\"%s\"},\"values\":{\"user\":\"user %d\"}}\n", $2, NR
}' "$file" | nestc tx - --quiet --name "import $(basename "$file")")
printf '%s\n' "$results" | cut -f 2 | sort | uniq -c
