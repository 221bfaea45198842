# The wheel on a Debian that has nothing but its essential packages and Python: pip installs it
# without a network, and it runs as nobody. LOWER: that Debian; WORK: an empty folder; PACKAGE: the
# wheel.
set -eu
mount -t tmpfs changes "$WORK"
mkdir "$WORK/upper" "$WORK/work" "$WORK/root"
mount -t overlay host -o "lowerdir=$LOWER,upperdir=$WORK/upper,workdir=$WORK/work" "$WORK/root"
for place in proc dev; do mount --rbind "/$place" "$WORK/root/$place"; done
mkdir -m 777 "$WORK/root/trial"
cp "$PACKAGE" "$WORK/root/trial/"
exec chroot "$WORK/root" /bin/sh -eu <<'INSIDE'
cd /trial
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/trial "$@"; }
as_nobody python3 -m venv venv
as_nobody venv/bin/pip install --quiet --disable-pip-version-check --no-index ./*.whl
as_nobody venv/bin/python -c '
import justfull as jf
print(jf.scenario("voip-over-lte").run(seeds=2, progress=False))' > said
grep -q Vanilla said || { echo 'the wheel prints no table:'; cat said; exit 1; }
echo "the wheel runs a scenario with $(as_nobody venv/bin/python --version)"
INSIDE
