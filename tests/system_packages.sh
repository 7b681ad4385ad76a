#!/bin/sh
# The tests start a real server of PostgreSQL and drive the page in a real browser (Chromium). Install both
# where that is possible; else those tests skip.
install() { # name, package
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "installing $1 for the tests"
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2"; } >/dev/null 2>&1 && return
    fi
    echo "$1 is not here and could not be installed: its tests will be skipped" >&2
}
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || install PostgreSQL postgresql
command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || install Chromium chromium
exit 0
