#!/bin/sh
# Install the R package into a folder of its own and run its tests against the Python that is named first.
set -e
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")" && pwd)
need="r-base-core r-cran-reticulate r-cran-testthat r-cran-tibble r-cran-haven"
if ! Rscript -e 'for (p in c("reticulate", "testthat", "tibble", "haven")) library(p, character.only = TRUE)' >/dev/null 2>&1; then
    echo "installing R and its packages from Debian"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need
fi
library=$(mktemp -d)
trap 'rm -rf "$library"' EXIT
R CMD INSTALL --no-test-load --library="$library" "$here" >/dev/null
cd "$here/tests"
R_LIBS="$library" RETICULATE_PYTHON="$python" Rscript testthat.R
