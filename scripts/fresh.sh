#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a newcomer does, each on a fresh system in a folder: README's first command in a clone, and its
# second one if WEFT_FRESH asks for it; the Debian packages of build-deb, if they are there, with the
# programs that the documentation shows in C, C++, Fortran and Python; the wheel in dist/, if it is there,
# with nothing but Python and numpy. Needs root, mmdebstrap and a network; minutes each, a quarter of an
# hour for the second command. WEFT_FRESH names the parts to run: "demo packages wheel", or "test".
#   scripts/fresh.sh [SUITE [SOURCES]]     bookworm by default; SOURCES as mmdebstrap takes them
# Ubuntu on a machine with Debian, with the keys from Ubuntu's package ubuntu-keyring:
#   scripts/fresh.sh noble "deb [signed-by=KEYS] http://archive.ubuntu.com/ubuntu noble main universe"
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${1:-bookworm}
[ $# -lt 2 ] || sources=("$2")

if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null; then
    echo "fresh: needs root, and mmdebstrap: apt-get install mmdebstrap" >&2
    exit 1
fi
work=$(mktemp -d)
root=$work/root
parts=" ${WEFT_FRESH:-demo packages wheel} "
wanted() { [[ $parts == *" $1 "* ]]; }
leave() {
    umount "$root/proc" "$root/dev" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap leave EXIT

mmdebstrap --quiet --mode=root --variant=minbase --include=apt,ca-certificates "$suite" "$work/first.tar" \
    ${sources[@]+"${sources[@]}"}

# fresh WHAT: a new system in $root.
fresh() {
    echo "fresh: $suite, $1"
    umount "$root/proc" "$root/dev" 2>/dev/null || true
    rm -rf --one-file-system "$root"
    mkdir "$root"
    tar -xf "$work/first.tar" -C "$root"
    cp /etc/resolv.conf "$root/etc/"
    mount -t proc proc "$root/proc"
    mount --bind /dev "$root/dev"
    inside 'apt-get -qq update'
}
inside() { # inside COMMANDS: runs them in the fresh system; if they fail, prints the end of their output
    if ! chroot "$root" env -i HOME=/srv PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive sh -ec "$1" >"$work/log" 2>&1; then
        tail -n 40 "$work/log" >&2
        echo "fresh: failed: $1" >&2
        exit 1
    fi
}

# The first block of code of a language in a page of the documentation, as it stands there.
block() { # block LANGUAGE PAGE
    awk -v start="^\`\`\`$1\$" '/^```/ && inside { exit } inside { print } $0 ~ start { inside = 1 }' "$2"
}

for command in demo test; do
    if wanted $command; then
        fresh "README's make $command"
        inside 'apt-get -qq install -y git make'
        git clone -q . "$root/srv/weft"
        inside "cd /srv/weft && git config --global --add safe.directory /srv/weft && make $command"
        tail -n 3 "$work/log"
    fi
done

if wanted packages && compgen -G 'build-deb/*.deb' >/dev/null; then
    fresh "the packages"
    cp build-deb/*.deb "$root/srv/"
    block c README.md >"$root/srv/first.c"
    block cpp docs/languages.md >"$root/srv/first.cpp"
    block python python/README.md >"$root/srv/first.py"
    inside 'apt-get -qq install -y /srv/*.deb gcc g++ gfortran libc6-dev pkg-config'
    inside 'weft --version && weft random normal -n 1000 -o /srv/x.npy && weft summary /srv/x.npy'
    inside 'cd /srv && e=/usr/share/doc/weft/examples
        cc first.c $(pkg-config --cflags --libs weft) -o first && ./first
        c++ -std=c++17 first.cpp $(pkg-config --cflags --libs weft) -o first && ./first
        cc -std=c17 $e/lesson01_add.c $(pkg-config --cflags --libs weft) -o lesson && ./lesson
        gfortran $e/first.f90 $(pkg-config --cflags --libs weft_fortran) -o first && ./first cpu:1
        man -w weft_sort >/dev/null 2>&1 || test -e /usr/share/man/man3/weft_sort.3.gz'
    cp tests/install/hpp/consumer.cpp "$root/srv/"
    inside 'cd /srv && c++ -std=c++17 consumer.cpp $(pkg-config --cflags --libs weft) -o cxx && ./cxx'
    inside 'cd /srv && python3 first.py && python3 -c "import weft; print(weft.climb(\"map\", n=4096))"'
    echo "fresh: the packages work, from C, C++, Fortran and Python"
fi

if wanted wheel && compgen -G 'dist/weft-*.whl' >/dev/null; then
    fresh "the wheel"
    block python python/README.md >"$root/srv/first.py"
    cp "$(ls -t dist/weft-*.whl | head -n 1)" "$root/srv/"
    inside 'apt-get -qq install -y --no-install-recommends python3-pip python3-numpy'
    inside 'pip install --no-index --no-deps --break-system-packages /srv/weft-*.whl'
    inside 'python3 /srv/first.py && weft --version'
    echo "fresh: the wheel works with Python and numpy alone"
fi
