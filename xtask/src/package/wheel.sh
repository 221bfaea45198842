# The wheel on a Debian that has nothing but its essential packages and Python: pip installs it
# without a network, and it runs as nobody. After overlay.sh. PACKAGE: the wheel.
for place in proc dev; do mount --rbind "/$place" "$root/$place"; done
cp "$PACKAGE" "$root/trial/"
exec chroot "$root" /bin/sh -eu <<'INSIDE'
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
