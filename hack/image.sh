#!/usr/bin/env bash
# Builds the image without a container engine, on a base made from Debian's packages, runs it as its own user and asks it
# over HTTPS how it is. Leaves build/image.tar, which `docker load` and `podman load` take.
#
# Chroot isolation is less than a container: cgroup limits, seccomp, dropped capabilities and a read-only root are not
# exercised. In place of the last one, it is checked that the process wrote no file.
set -euo pipefail
cd "$(dirname "$0")/.."

name=fresh-metrics-adapter
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml)
image=localhost/$name:$version
packages=python3,python3-venv,ca-certificates
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/$name
base=$cache/bookworm,$packages.tar
work=$(mktemp -d)
server=

main() {
  [ "$(id -u)" -eq 0 ] || fail "chroot isolation needs root; with a container engine: docker build -t $name ."
  hack/need.sh buildah mmdebstrap
  trap clean_up EXIT
  own_storage
  make_base
  build
  container=$(buildah from --pull-never "$image")
  prove_contents
  prove_serving
  save
}

own_storage() { # for this run only: what engines on this machine keep is left alone
  printf '[storage]\ndriver = "vfs"\ngraphroot = "%s"\nrunroot = "%s"\n' "$work/storage" "$work/run" >"$work/storage.conf"
  export BUILDAH_ISOLATION=chroot CONTAINERS_STORAGE_CONF=$work/storage.conf
}

make_base() {
  if [ -n "$(find "$base" -mtime -7 2>/dev/null)" ]; then
    say "base: $base, younger than a week"
  else
    say "base: Debian bookworm with $packages"
    mkdir -p "$cache"
    mmdebstrap --quiet --variant=minbase --include="$packages" bookworm "$work/base.tar"
    mv "$work/base.tar" "$base"
  fi
  local scratch
  scratch=$(buildah from scratch)
  buildah add --quiet "$scratch" "$base" / >/dev/null
  buildah commit --quiet --rm "$scratch" localhost/base >/dev/null
}

build() { # the volume: pip trusts what this machine trusts
  say "building $image"
  buildah bud --quiet --pull-never --build-arg BASE=localhost/base --volume /etc/ssl/certs:/etc/ssl/certs:ro \
    --tag "$image" . >/dev/null
}

prove_contents() {
  say "looking inside"
  is "entry point" "[/venv/bin/$name]" "$(buildah inspect --type image --format '{{.OCIv1.Config.Entrypoint}}' "$image")"
  is "user" 65532:65532 "$(inside id -u):$(inside id -g)"
  is "version" "$name $version" "$(inside "/venv/bin/$name" --version)"
  is "compilers and installers" "" "$(inside sh -c 'ls /venv/bin/pip*; command -v pip pip3 gcc cc ld make' 2>/dev/null || true)"
  is "modules that install" "" "$(inside /venv/bin/python3 -c \
    'import importlib.util as u; print(*filter(u.find_spec, ("pip", "setuptools", "wheel")))')"
}

prove_serving() {
  say "serving"
  buildah run "$container" -- "/venv/bin/$name" serve --secure-port 0 --metrics-port 0 --log-format json \
    >"$work/serve.log" 2>&1 &
  server=$!
  local url=
  while [ -z "$url" ] && kill -0 "$server" 2>/dev/null; do
    sleep 0.1
    url=$(grep -o -m 1 'https://127\.0\.0\.1:[0-9]*' "$work/serve.log" || true)
  done
  [ -n "$url" ] || fail "it does not serve:" "$(cat "$work/serve.log")"
  is "$url/healthz" "200 ok" "$(ask "$url/healthz")"
  kill -TERM "$(innermost "$server")"
  local code=0
  wait "$server" || code=$?
  server=
  is "exit code on SIGTERM" 0 "$code"
  is "files it wrote" "" "$(find "$(buildah mount "$container")" -xdev -user 65532)"
}

save() {
  mkdir -p build
  rm -f build/image.tar
  buildah push --quiet "$image" "docker-archive:build/image.tar:$name:$version"
  say "$image is $(buildah images --format '{{.Size}}' "$image")," \
    "of which the virtual environment is $(du -sm "$(buildah mount "$container")/venv" | cut -f 1) MB: build/image.tar"
}

inside() { buildah run "$container" -- "$@"; }

ask() { # its certificate is made at start, so nobody vouches for it
  python3 -c 'import ssl, sys, urllib.request as r
answer = r.urlopen(sys.argv[1], timeout=10, context=ssl._create_unverified_context())
print(answer.status, answer.read().decode())' "$1"
}

is() { # WHAT WANTED FOUND
  [ "$2" = "$3" ] || fail "$1: wanted '$2', found '$3'" "$(tail -n 20 "$work/serve.log" 2>/dev/null)"
  printf '  %s: %s\n' "$1" "${3:-none}"
}

innermost() { # PID; buildah itself would hand on no signal but the last one
  local child
  child=$(cat "/proc/$1/task/"*/children | cut -d ' ' -f 1)
  if [ -n "$child" ]; then innermost "$child"; else echo "$1"; fi
}

say() { printf '%s\n' "$*"; }

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

clean_up() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
  if grep -q " $work" /proc/self/mountinfo; then
    say "something is still mounted, so $work is left" >&2
  else
    rm -rf "$work"
  fi
}

main
