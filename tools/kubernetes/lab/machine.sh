#!/usr/bin/env bash
# Process 1 of a machine of the lab, in namespaces of its own: machine.sh NAME FOLDER
# Gives programs their usual folders, all of them below FOLDER, and reaps processes that lose their parent, as bash does.
set -euo pipefail
name=$1 files=$2

hostname "$name"
ip link set lo up
sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0

mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/lib
for folder in kubelet containerd cni; do
  mkdir -p "$files/$folder" "/var/lib/$folder"
  mount --bind "$files/$folder" "/var/lib/$folder"
done
# Volumes of pods appear in the mounts of containers that were made from this one.
mount --make-rshared /var/lib/kubelet
mkdir -p "$files/log"
mount --bind "$files/log" /var/log

echo ready >"$files/machine.ready"
while :; do
  sleep 3600 &
  wait $! || true
done
