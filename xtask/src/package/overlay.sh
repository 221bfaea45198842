# A clean Debian whose changes are in memory, in $root. LOWER: that Debian; WORK: an empty folder.
set -eu
root=$WORK/root
mount -t tmpfs changes "$WORK"
mkdir "$WORK/upper" "$WORK/work" "$root"
mount -t overlay host -o "lowerdir=$LOWER,upperdir=$WORK/upper,workdir=$WORK/work" "$root"
mkdir -m 777 "$root/trial"

