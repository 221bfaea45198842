# The C library on a Debian of essential packages and compilers: the guide's commands compile an
# example by pkg-config and by CMake, and both programs run. After overlay.sh. PACKAGE: the package;
# COMMANDS: the guide's; OUTPUT: the line of each program.
for place in proc dev; do mount --rbind "/$place" "$root/$place"; done
cp "$PACKAGE" "$root/trial/libjustfull-dev.deb"
exec env -i PATH="$PATH" HOME=/trial COMMANDS="$COMMANDS" OUTPUT="$OUTPUT" \
    chroot "$root" /bin/sh -eu <<'INSIDE'
cd /trial
export DEBIAN_FRONTEND=noninteractive
printf 'set -eu\n%s\n' "$COMMANDS" > commands
sh commands > said 2>&1 || { cat said; exit 1; }
[ "$(grep -cxF "$OUTPUT" said)" = 2 ] || { echo "not twice \"$OUTPUT\":"; cat said; exit 1; }
ldd rlc | grep -q 'libjustfull.so.0 => /' || { echo 'no shared library'; ldd rlc; exit 1; }
cc -std=c11 rlc-c/rlc.c "$(pkg-config --variable=libdir justfull)/libjustfull.a" \
    $(pkg-config --static --libs justfull | sed 's/-ljustfull//') -o alone
[ "$(./alone)" = "$OUTPUT" ] || { echo 'linked with the static library:'; ./alone; exit 1; }
dpkg --purge libjustfull-dev > removed 2>&1 || { cat removed; exit 1; }
find / -xdev -path /trial -prune -o -path /proc -prune -o -path '/var/lib/dpkg/*' -prune -o \
    -name '*justfull*' -print > left
[ ! -s left ] || { echo 'removed, it leaves:'; cat left; exit 1; }
echo "libjustfull-dev: an example compiled by pkg-config, by CMake and statically runs"
INSIDE
