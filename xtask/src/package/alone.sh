# The static program where nothing else is but devices: no library, no locale, no account. WORK: an
# empty folder; PACKAGE: what the program is in.
set -eu
mount -t tmpfs alone "$WORK"
tar -C "$WORK" --extract --file "$PACKAGE" --strip-components 1
cd "$WORK"
mkdir dev
mount --rbind /dev dev
for file in LICENSE-MIT LICENSE-APACHE NOTICE man1/justfull.1; do
    [ -s "$file" ] || { echo "the archive has no $file"; exit 1; }
done
chroot . /justfull --version
chroot . /justfull demo --quiet --out /results
chroot . /justfull check /results > /dev/null
