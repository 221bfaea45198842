# The package on a Debian that has nothing but its essential packages: it installs, runs as nobody,
# and is removed without a trace. After overlay.sh. PACKAGE: the package.
for place in proc dev; do mount --rbind "/$place" "$root/$place"; done
cp "$PACKAGE" "$root/trial/justfull.deb"
exec chroot "$root" /bin/sh -eu <<'INSIDE'
# dpkg keeps its own journals, which name every package that ever was; links in /etc/alternatives
# and all else must be as before.
files() {
    find / -xdev -path /trial -prune -o \
        -path /var/lib/dpkg/status-old -o -path '/var/lib/dpkg/lock*' -o \
        -path /var/log/dpkg.log -o -path /var/lib/dpkg/triggers/Lock -o \
        \( -type d -printf '%p %M %u\n' -o -printf '%p %M %u %s\n' \) | LC_ALL=C sort
}
export DEBIAN_FRONTEND=noninteractive
files > /trial/before
dpkg --install /trial/justfull.deb > /trial/said 2>&1 || { cat /trial/said; exit 1; }
dpkg --listfiles justfull > /trial/listed
files > /trial/during
grep -q '^/usr/bin/justfull -rwxr-xr-x root ' /trial/during
for file in /usr/bin/justfull /usr/share/man/man1/justfull.1.gz \
    /usr/share/bash-completion/completions/justfull /usr/share/zsh/vendor-completions/_justfull \
    /usr/share/fish/vendor_completions.d/justfull.fish /usr/share/justfull/scenarios/demo.toml \
    /usr/lib/systemd/system/justfull-proxy.service /usr/share/doc/justfull/copyright \
    /usr/share/doc/justfull/NOTICE /usr/share/doc/justfull/LICENSE-MIT \
    /usr/share/doc/justfull/LICENSE-APACHE /usr/share/justfull/grafana-proxy.json \
    /usr/share/justfull/grafana-live.json /usr/share/justfull/alerts-proxy.yml \
    /usr/share/justfull/keepalived-proxy.conf /usr/include/justfull_plugin.h; do
    [ -s "$file" ] || { echo "the package installs no $file"; exit 1; }
done
unit=/usr/lib/systemd/system/justfull-proxy.service
sed -n 's/^Exec[A-Za-z]*=\(\/usr[^ ]*justfull\).*/\1/p' "$unit" | while read -r program; do
    [ -x "$program" ] || { echo "the unit starts $program"; exit 1; }
done
bash -n /usr/share/bash-completion/completions/justfull
cd /trial
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/trial "$@"; }
as_nobody justfull --version
as_nobody justfull check /usr/share/justfull/scenarios/demo.toml > /dev/null
begin=$(date +%s%N)
as_nobody justfull demo --quiet --out /trial/results
echo "justfull demo took $(( ($(date +%s%N) - begin) / 1000000 )) ms"
as_nobody justfull check /trial/results > /dev/null
dpkg --purge justfull > /trial/said 2>&1 || { cat /trial/said; exit 1; }
files > /trial/after
if ! cmp -s /trial/before /trial/after; then
    echo 'installed and removed, it leaves (>) or lacks (<):'
    diff /trial/before /trial/after
    exit 1
fi
echo "$(wc -l < /trial/listed) files and folders installed and removed without a trace"
INSIDE
