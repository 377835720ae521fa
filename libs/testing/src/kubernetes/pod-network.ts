import { execFile, execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The network of a pod: a namespace of its own, with one interface that leads to this machine. */
export interface PodNetwork {
  /** The name of the namespace for `ip netns exec`. */
  readonly namespace: string;
  /** The pod's address, which this machine reaches. */
  readonly address: string;
  remove(): Promise<void>;
}

/** What a network policy allows a pod to connect to on this machine. */
export type AllowedEgress = { readonly ports: readonly number[] } | 'all';

/** Address of this machine for all pods. */
export const NODE_ADDRESS = '100.127.255.1';
const INTERFACE = 'eth0';

/** Why pods cannot have networks here, or null. */
export function missingForPodNetworks(): string | null {
  if (process.getuid?.() !== 0) return 'pods with networks of their own need root';
  for (const program of ['ip', 'iptables', 'sysctl'])
    if (!['/usr/sbin', '/sbin', '/usr/bin', '/bin'].some((folder) => existsSync(`${folder}/${program}`)))
      return `${program} is not installed`;
  return null;
}

/** Gives this machine the address that pods know it by; idempotent. */
export function openNodeAddress(): void {
  execFileSync('ip', ['addr', 'replace', `${NODE_ADDRESS}/32`, 'dev', 'lo'], { stdio: ['ignore', 'ignore', 'pipe'] });
}

/**
 * Makes a network whose pod connects to nothing but the allowed ports of this machine, as by a network policy; everything
 * else is rejected.
 *
 * @param pick a number for the network, 0 to 65,535; called again while another network of this machine has it
 */
export async function createPodNetwork(
  egress: AllowedEgress,
  pick: () => number = () => randomInt(MAX_NETWORKS),
): Promise<PodNetwork> {
  const index = await addNamespace(pick);
  const namespace = namespaceOf(index);
  const host = `cbp${index}`;
  const address = `100.126.${Math.floor(index / 256)}.${index % 256}`;
  const inside = `ip netns exec ${namespace}`;
  const allow = (egress === 'all' ? [] : egress.ports).map(
    (port) => `${inside} iptables -A OUTPUT -p tcp -d ${NODE_ADDRESS} --dport ${port} -j ACCEPT`,
  );
  const script = [
    'set -e',
    `ip link add ${host} type veth peer name ${INTERFACE} netns ${namespace}`,
    `ip link set ${host} up`,
    `ip route replace ${address}/32 dev ${host}`,
    `${inside} sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1`,
    `${inside} ip link set lo up`,
    `${inside} ip link set ${INTERFACE} up`,
    `${inside} ip addr add ${address}/32 dev ${INTERFACE}`,
    `${inside} ip route add ${NODE_ADDRESS}/32 dev ${INTERFACE} scope link`,
    `${inside} ip route add default via ${NODE_ADDRESS} dev ${INTERFACE}`,
    `${inside} iptables -A OUTPUT -o lo -j ACCEPT`,
    `${inside} iptables -A OUTPUT -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT`,
    ...allow,
    `${inside} iptables -A OUTPUT -j ${egress === 'all' ? 'ACCEPT' : 'REJECT'}`,
  ].join('\n');
  const remove = async (): Promise<void> => {
    await run('ip', ['netns', 'del', namespace]).catch(() => undefined);
    await run('ip', ['link', 'del', host]).catch(() => undefined);
  };
  try {
    await run('sh', ['-c', script]);
  } catch (error) {
    await remove();
    throw error;
  }
  return { namespace, address, remove };
}

/** Networks that one machine can have, as their number is a part of their address. */
const MAX_NETWORKS = 65_536;
const MAX_TRIES = 100;

const namespaceOf = (index: number): string => `caribou-pod-${index}`;

/** Adds a namespace under a number that no process of this machine uses, and returns the number. */
async function addNamespace(pick: () => number): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    const index = pick();
    try {
      await run('ip', ['netns', 'add', namespaceOf(index)]);
      return index;
    } catch (error) {
      const isTaken = String(error).includes('File exists');
      if (!isTaken || tries === MAX_TRIES) throw error;
    }
  }
}
