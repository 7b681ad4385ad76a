#!/bin/sh
# The tests start a real server of PostgreSQL. Install it where that is possible; else those tests skip.
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && exit 0
command -v initdb >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing PostgreSQL for the tests"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql; } >/dev/null 2>&1 && exit 0
fi
echo "PostgreSQL is not here and could not be installed: its tests will be skipped" >&2
exit 0
