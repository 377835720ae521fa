import { join } from 'node:path';
import type * as buses from '@caribou/bus';
import type * as contracts from '@caribou/contracts';
import type * as core from '@caribou/core';
import type * as state from '@caribou/state';
import type { Fleet } from '../fleet.js';

/** Calls of one sandbox, by the client of the build whose services run. */
export interface SystemCalls {
  /** `true`. */
  exec(): Promise<void>;
  /** 1 MiB in one request, other bytes each time. */
  write(): Promise<void>;
  /** The same in replies of 256 KiB. */
  read(): Promise<void>;
  close(): Promise<void>;
}

interface Libraries {
  readonly bus: typeof buses;
  readonly contracts: typeof contracts;
  readonly core: typeof core;
  readonly state: typeof state;
}

const TIMEOUT_MS = 60_000;
const LEASE_MS = 3_600_000;
const FILE = '/mnt/user-data/workspace/megabyte';
const LINE = `${'x'.repeat(63)}\n`;
const LINES = 16_384;
const LINES_PER_READ = 4_096;

/** @param product the folder `dist` of the build whose services the fleet runs */
export async function openCalls(fleet: Fleet, product: string): Promise<SystemCalls> {
  const library = await librariesOf(product);
  const redis = library.state.createRedis({ url: fleet.redisUrl });
  const logger = library.core.silentLogger;
  const { newId } = library.contracts;
  const bus = library.bus.connectBus({ url: fleet.natsUrl, name: 'bench', logger, streams: [] });
  const close = async (): Promise<void> => {
    await bus.close();
    await redis.close();
  };
  try {
    await bus.waitUntilConnected();
    const scope: core.SandboxScope = { userId: 'bench', threadId: newId(), epoch: 1 };
    const { lease } = redis.keys.thread(scope);
    await redis.use((client) => client.set(lease, `bench:${scope.epoch}`, 'PX', LEASE_MS));
    const registry = library.state.redisSandboxRegistry(redis);
    const journal = library.state.redisExecutionJournal(redis);
    const sandbox = library.bus.createRemoteSandbox({ bus, registry, journal, logger });
    return { ...callsOf(sandbox, scope, newId), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function librariesOf(product: string): Promise<Libraries> {
  const load = async (name: string): Promise<unknown> => import(join(product, 'libs', name, 'src/index.js'));
  const names = ['bus', 'contracts', 'core', 'state'] as const;
  const loaded = await Promise.all(names.map(async (name) => [name, await load(name)] as const));
  return Object.fromEntries(loaded) as unknown as Libraries;
}

function callsOf(sandbox: core.SandboxPort, scope: core.SandboxScope, newId: () => string): Omit<SystemCalls, 'close'> {
  let writes = 0;
  const inTime = (): AbortSignal => AbortSignal.timeout(TIMEOUT_MS);
  const expect = (what: string, { outcome }: { readonly outcome: string }, wanted: string): void => {
    if (outcome !== wanted) throw new Error(`${what} answered ${outcome}`);
  };
  return {
    exec: async () => {
      const request = { key: newId(), command: 'true', timeout_ms: TIMEOUT_MS, max_output_bytes: 1_024 };
      expect('exec', await sandbox.exec(scope, request, inTime()), 'done');
    },
    write: async () => {
      const first = `${String((writes += 1)).padStart(LINE.length - 1)}\n`;
      const request = { key: newId(), path: FILE, content: first + LINE.repeat(LINES - 1), append: false };
      expect('write', await sandbox.write(scope, request, inTime()), 'ok');
    },
    read: async () => {
      for (let first = 1; first < LINES; first += LINES_PER_READ) {
        const range = { start_line: first, end_line: first + LINES_PER_READ - 1, max_bytes: 256 * 1024 };
        expect('read', await sandbox.read(scope, { path: FILE, ...range }, inTime()), 'ok');
      }
    },
  };
}
