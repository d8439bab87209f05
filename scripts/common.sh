# common.sh - what quickstart and test share.  Sourced, not run.
# shellcheck shell=bash

# The folder of this checkout, and the folder where builds go.
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${HOLDFAST_BUILD_DIR:-$HERE/build}

# Whether others could put files into a folder, as the loader of backends sees it (SPEC
# 2.2): it belongs to neither root nor this user, or may be written by a foreign group or
# by everybody (sticky folders excepted); the same for each folder above.
others_can_write() {
    local folder=$1 owner group mode
    while :; do
        [ -e "$folder" ] || { folder=$(dirname "$folder"); continue; }
        read -r owner group mode < <(stat -c '%u %g %a' "$folder")
        mode=$((8#$mode))
        [ "$owner" = 0 ] || [ "$owner" = "$(id -u)" ] || return 0
        if ! ((mode & 01000)); then
            ((mode & 0002)) && return 0
            ((mode & 0020)) && [ "$group" != 0 ] && [ "$group" != "$(id -g)" ] && return 0
        fi
        [ "$folder" != / ] || return 1
        folder=$(dirname "$folder")
    done
}

# A checkout of somebody else's (root in a container, a shared folder): backends built
# there would be refused, so they are built in a private place.
if [ -z "${HOLDFAST_BUILD_DIR:-}" ] && others_can_write "$BUILD"; then
    BUILD=${TMPDIR:-/tmp}/holdfast-build-$(id -u)
    mkdir -p -m 0700 "$BUILD"
    echo "Others can write $HERE, so its backends would not be loaded; building in $BUILD"
    if others_can_write "$BUILD"; then
        echo "$BUILD is not safe either: set HOLDFAST_BUILD_DIR to a private folder" >&2
        exit 1
    fi
fi
JOBS=${HOLDFAST_JOBS:-$(nproc)}

BUILD_PACKAGES=(gcc libc6-dev cmake ninja-build pkg-config libsqlite3-dev libltdl-dev
                libyaml-dev libjansson-dev zlib1g-dev)
TEST_PACKAGES=(g++ clang libcmocka-dev python3 sqlite3 util-linux binutils)

say() {
    printf '\n== %s\n' "$*"
}

have_package() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Installs what is missing of the Debian packages given; asks nothing when all is there.
need_packages() {
    local missing=() package as_root=()
    if ! command -v dpkg-query >/dev/null; then
        echo "This is no Debian system: install these by other means: $*"
        return
    fi
    for package; do
        have_package "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing ${missing[*]}"
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "Run as root, or install sudo, or install yourself: ${missing[*]}" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy \
        --no-install-recommends "${missing[@]}"
}

# build DIR TARGET... -- CMAKE ARGUMENTS: configures and builds.
build() {
    local dir=$1 targets=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        targets+=("$1")
        shift
    done
    [ $# -eq 0 ] || shift
    cmake -G Ninja -S "$HERE" -B "$dir" "$@" >"$dir.configure.log" 2>&1 || {
        cat "$dir.configure.log" >&2
        return 1
    }
    # One moving line on a terminal; in a log only what goes wrong.
    if [ -t 1 ]; then
        ninja -C "$dir" -j "$JOBS" "${targets[@]}"
    else
        ninja --quiet -C "$dir" -j "$JOBS" "${targets[@]}"
    fi
}
