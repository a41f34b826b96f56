#!/bin/sh
# What mpiexec takes for ssh: drops options, takes the host's address, and runs the rest of the line
# in the namespace that has this address. HOPLITE_BENCH_HOSTS lists pairs ADDRESS=NAMESPACE.
while [ "${1#-}" != "$1" ]; do shift; done
address=$1
shift
for pair in $HOPLITE_BENCH_HOSTS; do
  [ "${pair%%=*}" = "$address" ] && exec ip netns exec "${pair#*=}" sh -c "$*"
done
echo "no namespace has the address $address" >&2
exit 1
