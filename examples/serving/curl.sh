#!/bin/sh
# nd serve model.onnx, then: sh curl.sh http://127.0.0.1:8080 NAME INPUT_SIZE
set -eu
address=${1:-http://127.0.0.1:8080} name=${2:-model} size=${3:-96}
values=$(seq -s, 1 "$size")

curl -sSf "$address/models/$name/forecast" -H 'content-type: application/json' \
  -d "{\"series\": [{\"id\": \"A\", \"end\": \"2024-01-31T23:00:00\", \"y\": [$values]}], \"horizon\": 1}"
echo
# The same as a table.
curl -sSf "$address/models/$name/forecast" -H 'content-type: application/json' -H 'accept: text/csv' \
  -d "{\"series\": [{\"id\": \"A\", \"end\": \"2024-01-31T23:00:00\", \"y\": [$values]}]}"
# The open inference protocol, as KServe and Triton have it.
curl -sSf "$address/v2/models/$name/infer" -H 'content-type: application/json' \
  -d "{\"inputs\": [{\"name\": \"past_y\", \"shape\": [1, $size, 1], \"datatype\": \"FP32\", \"data\": [$values]}]}"
echo
curl -sSf "$address/health/ready"
echo
curl -sSf "$address/metrics" | grep '^nd_requests_total'
