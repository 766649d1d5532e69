#!/usr/bin/env bash
# build-image.sh [IMAGE]
#
# Builds the image of server and operator, prints its name, and hands it to the nodes of the test cluster when
# E2E_IMAGE_LOADER names a command that takes the path of a saved image archive. IMAGE defaults to polyad:<version>-<digest
# of what goes into it>: every state of the sources has a name of its own, since an image that is loaded does not replace
# one of the same name under running pods. Does nothing that is done already.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)
digest() {
  find Dockerfile .dockerignore package.json package-lock.json server operator crds -type f ! -name README.md -print0 |
    sort -z | xargs -0 sha256sum | sha256sum | cut -c1-10
}
image=${1:-polyad:$version-$(digest)}

if ! docker image inspect "$image" >/dev/null 2>&1; then
  echo "building $image" >&2
  log=$(mktemp)
  if ! nice docker build --network=host --build-arg VERSION="$version" \
    --build-arg REVISION="$(git rev-parse HEAD 2>/dev/null || true)" -t "$image" . >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    rm -f "$log"
    exit 1
  fi
  rm -f "$log"
fi

if [[ -n ${E2E_IMAGE_LOADER:-} ]]; then
  archive=$(mktemp --suffix .tar)
  trap 'rm -f "$archive"' EXIT
  docker save -o "$archive" "$image"
  $E2E_IMAGE_LOADER "$archive" >&2
fi
echo "$image"
