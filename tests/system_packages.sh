#!/bin/sh
# The tests start a real server of PostgreSQL, drive the page in a real browser (Chromium), run Spark, which needs
# Java, and let R read and write files. Install what is missing where that is possible; else those tests skip, and
# say so at the end.
install() { # name, packages: the first that can be had
    name=$1
    shift
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "installing $name for the tests"
        apt-get update -qq >/dev/null 2>&1
        for package in "$@"; do
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$package" >/dev/null 2>&1 </dev/null && return
        done
    fi
    echo "$name is not here and could not be installed: its tests will be skipped" >&2
}
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || install PostgreSQL postgresql
command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || install Chromium chromium
command -v java >/dev/null 2>&1 || install Java openjdk-17-jre-headless default-jre-headless
Rscript -e 'library(haven)' >/dev/null 2>&1 || install R r-cran-haven
exit 0
