import type { ServerResponse } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { waitFor } from '@caribou/testing';
import {
  call,
  closeServersAfterEach,
  delta,
  failureOf,
  listen,
  modelAt,
  never,
  read,
  sendAnswer,
  serve,
  STREAM_HEADERS,
} from '../testing/scripted-provider.js';

closeServersAfterEach();

describe('the three timeouts', () => {
  test('connect: a server that never completes the TLS handshake', async () => {
    const url = await listen(createTcpServer(), 'https');
    const error = await failureOf(
      modelAt(url, { modelConnectMs: 50 }).stream(call, { userId: 'alice', signal: never }),
    );
    expect([error.details['reason'], error.retryable]).toEqual(['connect_timeout', true]);
  });

  test('first byte: before the headers, and after them while only comments come; a short connect clock does not matter', async () => {
    for (const begin of [
      () => undefined,
      (response: ServerResponse) => void response.writeHead(200, STREAM_HEADERS).write(': wait\n\n'),
    ]) {
      const url = await serve(begin);
      const error = await failureOf(
        modelAt(url, { modelConnectMs: 400, modelFirstByteMs: 500 }).stream(call, { userId: 'alice', signal: never }),
      );
      expect([error.details['reason'], error.retryable]).toEqual(['first_byte_timeout', true]);
    }
  });

  test('between chunks: the connection is closed', async () => {
    let closed = false;
    const url = await serve((response) => {
      response.on('close', () => (closed = true));
      response.writeHead(200, STREAM_HEADERS).write(delta({ content: 'a' }));
    });
    const error = await failureOf(modelAt(url, { modelChunkMs: 50 }).stream(call, { userId: 'alice', signal: never }));
    expect([error.details['reason'], error.retryable]).toEqual(['chunk_timeout', true]);
    await waitFor(() => closed, { what: 'the connection to close' });
  });
});

describe('the end of a call', () => {
  test('an abort in mid-stream rejects with the reason and the server sees the connection close', async () => {
    let closed = false;
    const url = await serve((response) => {
      response.on('close', () => (closed = true));
      response.writeHead(200, STREAM_HEADERS).write(delta({ content: 'a' }) + delta({ content: 'b' }));
    });
    const abort = new AbortController();
    const reason = new Error('stop');
    const stream = modelAt(url).stream(call, { userId: 'alice', signal: abort.signal })[Symbol.asyncIterator]();
    expect(await stream.next()).toEqual({ value: { content: 'a' }, done: false });
    abort.abort(reason);
    await expect(stream.next()).rejects.toBe(reason);
    expect(await stream.next()).toEqual({ value: undefined, done: true });
    await waitFor(() => closed, { what: 'the connection to close' });
  });

  test('an abort before the headers, or before the call, rejects with the reason', async () => {
    let requests = 0;
    const url = await serve(() => (requests += 1));
    const abort = new AbortController();
    const waiting = read(modelAt(url).stream(call, { userId: 'alice', signal: abort.signal }));
    await waitFor(() => requests === 1, { what: 'the request' });
    abort.abort('stop');
    await expect(waiting).rejects.toBe('stop');
    await expect(read(modelAt(url).stream(call, { userId: 'alice', signal: abort.signal }))).rejects.toBe('stop');
    expect(requests).toBe(1);
  });

  test('a reader that leaves closes the connection', async () => {
    let closed = false;
    const url = await serve((response) => {
      response.on('close', () => (closed = true));
      response.writeHead(200, STREAM_HEADERS).write(delta({ content: 'a' }));
    });
    for await (const part of modelAt(url).stream(call, { userId: 'alice', signal: never })) {
      expect(part).toEqual({ content: 'a' });
      break;
    }
    await waitFor(() => closed, { what: 'the connection to close' });
  });

  test('the connection of a finished answer is reused, and one that the server closed is replaced', async () => {
    const ports: (number | undefined)[] = [];
    let refuse = false;
    const url = await serve((response, request) => {
      ports.push(request.socket.remotePort);
      if (refuse) request.socket.resetAndDestroy();
      else sendAnswer(response);
      refuse = false;
    });
    const port = modelAt(url);
    const answer = async () => (await read(port.stream(call, { userId: 'alice', signal: never })))[0];
    await answer();
    await answer();
    refuse = true;
    expect(await answer()).toEqual({ content: 'hi' });
    expect(ports).toHaveLength(4);
    expect(ports[1]).toBe(ports[0]);
    expect(ports[2]).toBe(ports[0]);
    expect(ports[3]).not.toBe(ports[0]);
  });

  test('an abort after the end has no effect, and no listener remains on a signal that many calls share', async () => {
    const url = await serve(sendAnswer);
    const abort = new AbortController();
    const added = jest.spyOn(abort.signal, 'addEventListener');
    const removed = jest.spyOn(abort.signal, 'removeEventListener');
    const port = modelAt(url);
    for (let turn = 0; turn < 20; turn += 1) await read(port.stream(call, { userId: 'alice', signal: abort.signal }));
    expect(added).toHaveBeenCalledTimes(20);
    expect(removed).toHaveBeenCalledTimes(20);
  });
});
