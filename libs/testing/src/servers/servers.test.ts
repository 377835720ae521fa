import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { firstBytes } from './ports.js';
import { startNats, startProxy, startRedis, waitFor } from '../index.js';

const say = async (socket: Socket, line: string): Promise<string> => {
  const answer = once(socket, 'data');
  socket.write(`${line}\r\n`);
  const [data]: Buffer[] = await answer;
  return String(data);
};

const dial = async (port: number): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1' });
  await once(socket, 'connect');
  return socket;
};

describe('servers of tests', () => {
  test('redis with an append-only file does not lose data by kill -9 and restarts on the same port', async () => {
    const redis = await startRedis();
    const socket = await dial(redis.port);
    expect(await say(socket, 'SET fact 42')).toBe('+OK\r\n');
    await redis.kill9();
    await expect(firstBytes(redis.port, 'PING\r\n')).rejects.toThrow();
    await redis.restart();
    expect(await firstBytes(redis.port, 'GET fact\r\n')).toBe('$2\r\n42\r\n');
    await redis.stop();
  });

  test('nats starts with JetStream and the asked payload limit, and restarts on its port', async () => {
    const nats = await startNats({ maxPayloadBytes: 123_456 });
    const hello = await firstBytes(nats.port, '');
    expect(hello).toContain('"max_payload":123456');
    expect(hello).toContain('"jetstream":true');
    await nats.restart();
    expect(await firstBytes(nats.port, '')).toContain(`"port":${nats.port}`);
    await nats.stop();
  });
});

describe('proxy', () => {
  const world = async () => {
    const redis = await startRedis({ appendonly: false });
    const proxy = await startProxy({ target: redis.port });
    const socket = await dial(proxy.port);
    socket.on('error', () => undefined);
    const stop = async (): Promise<void> => {
      socket.destroy();
      await proxy.stop();
      await redis.stop();
    };
    return { redis, proxy, socket, stop };
  };

  test('holds the reply to one request while the request itself is executed', async () => {
    const { redis, proxy, socket, stop } = await world();
    const hold = proxy.hold('reply', { in: 'request', bytes: (seen) => seen.includes('INCR kept') });
    expect(await say(socket, 'INCR other')).toBe(':1\r\n');
    const answer = say(socket, 'INCR kept');
    await hold.reached;
    await waitFor(async () => (await firstBytes(redis.port, 'GET kept\r\n')).includes('1'), { what: 'the increment' });
    const early = await Promise.race([answer, say(await dial(proxy.port), 'INCR meanwhile')]);
    expect(early).toBe(':1\r\n');
    hold.release();
    expect(await answer).toBe(':1\r\n');
    expect(await say(socket, 'INCR kept')).toBe(':2\r\n');
    await stop();
  });

  test('a held request does not reach the target before its release', async () => {
    const { redis, proxy, socket, stop } = await world();
    const hold = proxy.hold('request', { bytes: (seen) => seen.includes('SET late') });
    const answer = say(socket, 'SET late 1');
    await hold.reached;
    expect(await firstBytes(redis.port, 'EXISTS late\r\n')).toBe(':0\r\n');
    hold.release();
    expect(await answer).toBe('+OK\r\n');
    await stop();
  });

  test('drops what matches, and cuts and refuses connections', async () => {
    const { redis, proxy, socket, stop } = await world();
    const drop = proxy.drop('request', { bytes: (seen) => seen.includes('SET lost') });
    socket.write('SET lost 1\r\n');
    await drop.reached;
    drop.release();
    expect(await say(socket, 'EXISTS lost')).toBe(':0\r\n');
    const closed = once(socket, 'close');
    proxy.refuse();
    proxy.cut();
    await closed;
    await expect(firstBytes(proxy.port, 'PING\r\n')).rejects.toThrow();
    proxy.accept();
    expect(await firstBytes(proxy.port, 'PING\r\n')).toBe('+PONG\r\n');
    expect(await firstBytes(redis.port, 'PING\r\n')).toBe('+PONG\r\n');
    await stop();
  });

  test('a delay does not change the order of the bytes', async () => {
    const { proxy, socket, stop } = await world();
    proxy.delay('reply', 30);
    const replies: string[] = [];
    socket.on('data', (data: Buffer) => replies.push(data.toString()));
    for (let turn = 0; turn < 5; turn += 1) socket.write('INCR counter\r\n');
    await waitFor(() => replies.join('').includes(':5'), { what: 'all replies' });
    expect(replies.join('')).toBe(':1\r\n:2\r\n:3\r\n:4\r\n:5\r\n');
    await stop();
  });
});
