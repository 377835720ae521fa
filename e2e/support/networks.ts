import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import type { ServiceNetwork } from '@caribou/testing';

const run = promisify(execFile);
const RUN_MS = 10_000;
const FOLDER = '/run/netns';
const PREFIX = 'caribou-test-';

/** A network namespace with one cable to the test's own network, and no route to anything else. */
export interface MachineNetwork extends ServiceNetwork {
  /** The test's end of the cable: all that processes of the machine can reach. */
  readonly hostAddress: string;
}

export interface Networks {
  readonly machines: readonly MachineNetwork[];
  close(): Promise<void>;
}

const ip = async (...args: readonly string[]): Promise<void> => {
  await run('ip', [...args], { timeout: RUN_MS });
};

/** Makes a network for each machine; the reason why this process cannot, for one that is not root or lacks `ip`. */
export async function openNetworks(count: number): Promise<Networks | string> {
  if (process.getuid?.() !== 0) return 'this process is not root';
  const names = Array.from({ length: count }, (_, index) => `${PREFIX}${process.pid}-${index}`);
  const close = async (): Promise<void> => {
    for (const name of names) await ip('netns', 'del', name);
  };
  await removeLeftovers();
  const subnet = freeSubnet();
  const machines: MachineNetwork[] = [];
  try {
    for (const [index, name] of names.entries()) machines.push(await openNetwork(name, { subnet, index }));
  } catch (error) {
    await close().catch(() => undefined);
    return error instanceof Error ? error.message : String(error);
  }
  return { machines, close };
}

async function openNetwork(
  name: string,
  { subnet, index }: { readonly subnet: string; readonly index: number },
): Promise<MachineNetwork> {
  const [hostAddress, address] = [`${subnet}.${4 * index + 1}`, `${subnet}.${4 * index + 2}`];
  const cable = `cb${process.pid.toString(36)}x${index}`;
  const inside = ['-n', name] as const;
  await ip('netns', 'add', name);
  await ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  await ip('addr', 'add', `${hostAddress}/30`, 'dev', cable);
  await ip('link', 'set', cable, 'up');
  await ip(...inside, 'addr', 'add', `${address}/30`, 'dev', 'eth0');
  await ip(...inside, 'link', 'set', 'eth0', 'up');
  await ip(...inside, 'link', 'set', 'lo', 'up');
  return { path: `${FOLDER}/${name}`, address, hostAddress };
}

/** Removes networks of tests that were killed; their cables go with them. */
async function removeLeftovers(): Promise<void> {
  const names = await readdir(FOLDER).catch(() => []);
  for (const name of names) {
    const pid = Number(/^caribou-test-(\d+)-\d+$/.exec(name)?.[1] ?? 0);
    if (pid > 0 && !isAlive(pid)) await ip('netns', 'del', name).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The first three numbers of a private subnet that no interface of this machine is in. */
function freeSubnet(): string {
  const used = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  for (;;) {
    const subnet = `10.${randomInt(128, 250)}.${randomInt(1, 250)}`;
    if (!used.some((address) => address.startsWith(`${subnet}.`))) return subnet;
  }
}

/** Whether a process in the network can connect to an address. */
export async function canConnect({ path }: ServiceNetwork, address: string, port: number): Promise<boolean> {
  const script = `exec 3<>/dev/tcp/${address}/${port}`;
  return run('nsenter', [`--net=${path}`, 'bash', '-c', script], { timeout: RUN_MS }).then(
    () => true,
    () => false,
  );
}
