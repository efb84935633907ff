#!/bin/sh
# Stores two users and their posts in one transaction.
set -e
nestc tx - --name "first users and posts" <<LINES
{"insert":"User","values":{"name":"Ada","dob":"1985-12-10"},"as":"ada"}
{"insert":"User","values":{"name":"Leo","dob":"1992-02-29"},"as":"leo"}
{"insert":"Post","values":{"title":"Bits in a byte","number":8,"user":"ada"}}
{"insert":"Post","values":{"title":"Half of a half","number":0.25,"user":"leo"}}
{"insert":"Post","values":{"title":"Seconds of a day","number":86400,"user":"ada"}}
{"insert":"Post","values":{"title":"Below freezing","number":-273.15,"user":"leo"}}
LINES
