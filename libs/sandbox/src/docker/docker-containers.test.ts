import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { testSandboxSettings } from '@caribou/testing';
import Docker from 'dockerode';
import { DriverContainers } from './docker-containers.js';

const sandbox = { sandboxId: 'caribou-1', managerId: 'm2', userId: 'default', threadId: 't1' };
const settings = testSandboxSettings('/none', { runtime: 'runsc' });

/** What the engine has been asked, each as `METHOD /path`. */
let asked: string[];
/** The engine's answers, by `METHOD /path`: the first of a list is used up, the last one stays. */
let answers: Record<string, [status: number, body: object][]>;
let engine: Server;
let containers: DriverContainers;

beforeEach(async () => {
  asked = [];
  engine = createServer((request, response) => {
    const call = `${request.method} ${request.url?.split('?')[0]}`;
    asked.push(call);
    const list = answers[call] ?? [];
    const [status, body] = (list.length > 1 ? list.shift() : list[0]) ?? [500, { message: `unexpected: ${call}` }];
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve));
  const { port } = engine.address() as AddressInfo;
  const docker = new Docker({ host: '127.0.0.1', port, protocol: 'http' });
  containers = new DriverContainers(() => docker, settings);
});
afterEach(async () => {
  engine.closeAllConnections();
  await new Promise((resolve) => engine.close(resolve));
});

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

describe('DriverContainers', () => {
  test('waits for a name that another creator holds before its container can be inspected', async () => {
    answers = {
      'GET /containers/caribou-1/json': [[404, { message: 'no such container' }]],
      'POST /containers/create': [...times(8, [409, { message: 'in use' }] as [number, object]), [201, { Id: 'c2' }]],
      'POST /containers/c2/start': [[204, {}]],
    };

    await containers.make(sandbox, { name: sandbox.sandboxId }, { fresh: true });

    expect(asked.filter((call) => call === 'POST /containers/create')).toHaveLength(9);
    expect(asked.at(-1)).toBe('POST /containers/c2/start');
  });

  test('a container that someone else is removing is waited for until it is gone', async () => {
    answers = {
      'POST /containers/c1/stop': [[304, {}]],
      'DELETE /containers/c1': [[409, { message: 'removal is already in progress' }]],
      'POST /containers/c1/wait': [[200, { StatusCode: 137 }]],
    };

    expect(await containers.end('c1')).toBe(false);
    expect(asked).toEqual(['POST /containers/c1/stop', 'DELETE /containers/c1', 'POST /containers/c1/wait']);
  });
});
