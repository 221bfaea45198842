# The package's service under systemd: a clean Debian boots in namespaces of its own, and the trial
# runs there as a service. After overlay.sh, on a Debian with systemd, iproute2 and Python. PACKAGE:
# the package; TRIAL: the trial's text.
cp "$PACKAGE" "$root/trial/justfull.deb"
printf '%s\n' "$TRIAL" > "$root/trial/trial.py"

# What a container of systemd has: devices, /sys and kernel settings that are not of its network
# cannot be changed.
mount -t tmpfs -o mode=755 dev "$root/dev"
for device in null zero full random urandom tty; do
    cp -a "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 pts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs shm "$root/dev/shm"
mount -t tmpfs -o mode=755 run "$root/run"

# Its own part of the control groups of version 2, whatever the host has otherwise.
mkdir "$WORK/groups"
mount -t cgroup2 groups "$WORK/groups"
own=$WORK/groups/justfull-trial-$$
mkdir "$own"
export own root WORK
cat > "$root/etc/systemd/system/trial.service" <<'UNIT'
[Unit]
After=basic.target
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 /trial/trial.py
StandardOutput=file:/trial/said
StandardError=file:/trial/said
TimeoutStartSec=400
ExecStopPost=/usr/bin/systemctl --no-block exit $EXIT_STATUS
UNIT
export boot='
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sys "$root/sys"
mount -t cgroup2 groups "$root/sys/fs/cgroup"
umount "$WORK/groups"
exec env -i container=justfull PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" \
    /usr/lib/systemd/systemd --unit=trial.service --show-status=0 --log-target=journal
'
# The end of `timeout` ends the first process of the PID namespace, and this ends all others.
status=0
timeout --signal=KILL 460 unshare --fork --kill-child --pid --mount --net --uts --ipc \
    sh -euc 'echo 0 > "$own/cgroup.procs"; exec unshare --cgroup sh -euc "$boot"' || status=$?
for _ in 1 2 3 4 5 6 7 8 9 10; do
    find "$own" -depth -type d -exec rmdir {} + 2> /dev/null && break
    sleep 1
done
if [ ! -e "$root/trial/said" ]; then
    echo "systemd does not boot here, or not as far as the trial (status $status); its journal:"
    journalctl --no-pager --directory "$root/var/log/journal" --lines=60 2>&1 || true
    exit 1
fi
cat "$root/trial/said"
[ "$status" -ne 137 ] || echo 'the trial does not end'
exit "$status"
