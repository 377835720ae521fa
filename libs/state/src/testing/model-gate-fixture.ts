import { newId } from '@caribou/contracts';
import type { AcquireResult, CallPermit, ModelGate } from '@caribou/core';
import { startRedis, type TestServer } from '@caribou/testing';
import { createRedis, type RedisConnection } from '../redis/connection.js';

export const endpoint = { provider: 'api.example.org/v1', model: 'm-1' };

const never = new AbortController().signal;

/** The connections of one test, each of which stands for a process. */
export interface GateConnections {
  readonly prefix: string;
  readonly all: RedisConnection[];
  /** Opens a connection that is closed after the test; to another server when its URL is given. */
  connect(options?: { readonly url?: string; readonly commandTimeoutMs?: number }): RedisConnection;
}

/** Runs one Redis server for the tests of the file and gives each test a key prefix of its own. */
export function useGateConnections(onOpen: (connections: GateConnections) => void): void {
  let server: TestServer;
  let connections: GateConnections;
  beforeAll(async () => {
    server = await startRedis({ appendonly: false });
  });
  beforeEach(() => {
    connections = newConnections(server.url);
    onOpen(connections);
  });
  afterEach(() => Promise.all(connections.all.map((connection) => connection.close())));
  afterAll(() => server.stop());
}

function newConnections(serverUrl: string): GateConnections {
  const prefix = `test-${newId()}:`;
  const all: RedisConnection[] = [];
  return {
    prefix,
    all,
    connect: ({ url = serverUrl, ...options } = {}) => {
      const redis = createRedis({ url, keyPrefix: prefix, ...options });
      all.push(redis);
      return redis;
    },
  };
}

export const enter = (gate: ModelGate, signal = never, userId = 'alice'): Promise<AcquireResult> =>
  gate.acquire(endpoint, { userId, signal });

/** Acquires a permit. @throws Error when the gate refuses the call */
export async function admitted(gate: ModelGate, signal = never): Promise<CallPermit> {
  const entry = await enter(gate, signal);
  if (entry.kind === 'admitted') return entry.permit;
  throw new Error(`refused: ${entry.reason}`);
}
