#!/bin/sh
# Installs the C library: install.sh ARCHIVE. ARCHIVE is libjustfull.a as cargo builds it; the
# shared library is linked from it, with a version for each symbol and a soname. PREFIX is its final
# place (/usr/local unless set), DESTDIR a folder that stands for the root, LIBDIR the folder of
# libraries (PREFIX/lib), CC the compiler that links.
set -eu

archive=${1:?install.sh ARCHIVE}
[ -f "$archive" ] || { echo "install.sh: $archive: no such file" >&2; exit 2; }
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../../Cargo.toml" | head -n 1)
[ -n "$version" ] || { echo 'install.sh: no version in Cargo.toml' >&2; exit 2; }
soname=libjustfull.so.${version%%.*}
prefix=${PREFIX:-/usr/local}
libdir=${LIBDIR:-$prefix/lib}
lib=${DESTDIR:-}$libdir
include=${DESTDIR:-}$prefix/include

mkdir -p "$lib/pkgconfig" "$lib/cmake/justfull" "$include"
install -m 644 "$here/include/justfull.h" "$here/include/justfull.hpp" "$include"
install -m 644 "$archive" "$lib/libjustfull.a"
"${CC:-cc}" -shared -o "$lib/libjustfull.so.$version" -Wl,-soname,"$soname" \
    -Wl,--version-script="$here/justfull.map" -Wl,--whole-archive "$archive" \
    -Wl,--no-whole-archive -Wl,--gc-sections -Wl,--no-undefined -Wl,-z,relro,-z,now \
    -lpthread -lm -ldl -lgcc_s
chmod 644 "$lib/libjustfull.so.$version"
ln -sf "libjustfull.so.$version" "$lib/$soname"
ln -sf "$soname" "$lib/libjustfull.so"

cat >"$lib/pkgconfig/justfull.pc" <<END
prefix=$prefix
libdir=$libdir
includedir=\${prefix}/include

Name: justfull
Description: Queues above an RLC, AQMs, limiters, pacers and EQP for base stations
Version: $version
Libs: -L\${libdir} -ljustfull
Libs.private: -lpthread -lm -ldl
Cflags: -I\${includedir}
END

sed "s/@VERSION@/$version/; s/@SONAME@/$soname/" "$here/cmake/justfull-config.cmake.in" \
    >"$lib/cmake/justfull/justfull-config.cmake"
sed "s/@VERSION@/$version/" "$here/cmake/justfull-config-version.cmake.in" \
    >"$lib/cmake/justfull/justfull-config-version.cmake"
