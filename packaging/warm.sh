#!/bin/sh
# Compile the kernels that a first `protect`, `check` and `bound` need, into NUMBA_CACHE_DIR.
set -e
programs=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$NUMBA_CACHE_DIR"
"$programs/shoal" demo --folder "$folder" -n 300 >/dev/null
for method in mdav optimise univariate; do
    one=$([ $method = univariate ] && echo "-c wages" || echo "-c wages -c turnover -c profit")
    "$programs/shoal" protect "$folder/firms.csv" -k 5 -m $method $one -o "$folder/$method.csv" >/dev/null 2>&1
done
"$programs/shoal" check "$folder/mdav.csv" -k 5 -c wages -c turnover -c profit --original "$folder/firms.csv" >/dev/null 2>&1 || true
