#!/usr/bin/env bash
# build-image.sh [--head] [IMAGE]
#
# Builds the image of server and operator, prints its name, and hands it to the nodes of the test cluster when
# E2E_IMAGE_LOADER names a command that takes the path of a saved image archive. IMAGE defaults to polyad:<version>-<digest
# of what goes into it>: every state of the sources has a name of its own, since an image that is loaded does not replace
# one of the same name under running pods. Does nothing that is done already.
#
#   --head   builds what is committed instead of the files as they are
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
revision=$(git rev-parse HEAD 2>/dev/null || true)
source=.
if [[ ${1:-} == --head ]]; then
  shift
  source=$temporary/source
  mkdir "$source"
  git archive HEAD | tar -x -C "$source"
fi

version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$source/package.json")
digest() {
  (cd "$source" && find Dockerfile .dockerignore package.json package-lock.json bin server operator crds -type f \
    ! -name README.md -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-10)
}
image=${1:-polyad:$version-$(digest)}

if ! docker image inspect "$image" >/dev/null 2>&1; then
  echo "building $image" >&2
  if ! nice docker build --network=host --build-arg VERSION="$version" --build-arg REVISION="$revision" \
    -t "$image" "$source" >"$temporary/log" 2>&1; then
    tail -n 40 "$temporary/log" >&2
    exit 1
  fi
fi

if [[ -n ${E2E_IMAGE_LOADER:-} ]]; then
  docker save -o "$temporary/image.tar" "$image"
  $E2E_IMAGE_LOADER "$temporary/image.tar" >&2
fi
echo "$image"
