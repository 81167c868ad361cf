#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# postgres.sh DIR: gathers in DIR what the image vigil needs of a Debian system with Postgres:
# usr with the programs, their files and their libraries, sh for initdb, and an empty data.
# The libraries of libc6 are left out: the base of the image has them, with the loader.
set -euo pipefail
out=$1
bin=
for dir in /usr/lib/postgresql/*/bin; do bin=$dir; done
lib=${bin%/bin}/lib
share=/usr/share/postgresql/${lib#/usr/lib/postgresql/}
share=${share%/lib}

mkdir -p "$out$bin" "$out$lib" "$out$share" "$out/data"
for program in postgres initdb pg_ctl pg_dump pg_restore; do cp -L "$bin/$program" "$out$bin/"; done
cp -L "$lib"/*.so "$out$lib/"
rm -f "$out$lib/llvmjit.so" # 100 MB of libraries; queries run without it
cp -rL "$share/." "$out$share/"
rm -rf "$out$share/man"
cp -L /bin/sh "$out/sh"

for file in "$out$bin"/* "$out$lib"/*.so; do ldd "$file"; done | while read -r name _ path _; do
  case $path in /*) ;; *) continue ;; esac # the loader, or a file without libraries
  case $name in
  ld-linux* | libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | libresolv.so*) continue ;;
  esac
  to=/usr/lib/$(basename "$(dirname "$path")")/$name
  if [ ! -e "$out$to" ]; then
    mkdir -p "$out$(dirname "$to")"
    cp -L "$path" "$out$to"
  fi
done
