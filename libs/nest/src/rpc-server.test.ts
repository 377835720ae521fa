import 'reflect-metadata';
import { connectBus, natsTarget, type Bus, type RpcClient } from '@caribou/bus';
import { AppError, ConflictError, rpc, TooLargeError, UnavailableError } from '@caribou/contracts';
import { encodeAttached, type Logger, silentLogger, utf8Text } from '@caribou/core';
import { makeCertificates, startNats, startProxy, type TestServer, waitFor } from '@caribou/testing';
import { Controller, type INestMicroservice, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MessagePattern, Payload } from '@nestjs/microservices';
import { connect, ErrorCode, type Msg, NatsError } from 'nats';
import { z } from 'zod';
import { nestLogger, parseRequest, RpcErrorFilter, rpcServerOptions } from './index.js';

const Act = rpc({
  name: 'test.act',
  request: z.object({ do: z.enum(['echo', 'conflict', 'defect', 'big', 'hang', 'nothing']), n: z.number().default(1) }),
  reply: z.object({ text: z.string() }),
  timeoutMs: 5_000,
});
const Own = rpc({ name: 'own', request: z.object({}), reply: z.object({ owner: z.string() }), timeoutMs: 5_000 });

const STORED = { name: 'test.store', reply: z.object({ text: z.string(), isAttached: z.boolean() }), timeoutMs: 5_000 };
const Store = rpc({ ...STORED, request: z.object({ name: z.string(), text: z.string() }), attachable: ['text'] });
const ReceivedStore = rpc({
  ...STORED,
  request: z.object({ name: z.string(), text: z.union([z.string(), z.instanceof(Uint8Array)]) }),
});

@Controller()
class ActController {
  @MessagePattern(Store.name)
  store(@Payload() payload: unknown): unknown {
    const { text } = parseRequest(ReceivedStore, payload);
    return typeof text === 'string' ? { text, isAttached: false } : { text: utf8Text(text), isAttached: true };
  }

  @MessagePattern(Act.name)
  async act(@Payload() payload: unknown): Promise<unknown> {
    const request = parseRequest(Act, payload);
    if (request.do === 'conflict') throw new ConflictError('busy', { details: { runId: 'r1' } });
    if (request.do === 'defect') throw new TypeError('the secret is 42');
    if (request.do === 'big') return { text: 'x'.repeat(request.n) };
    if (request.do === 'hang') await new Promise(() => undefined);
    if (request.do === 'nothing') return undefined;
    return { text: `echo ${request.n}` };
  }

  @MessagePattern('test.{owner}.own')
  own(): unknown {
    return { owner: 'me' };
  }
}

@Module({ controllers: [ActController] })
class ActModule {}

const LIMIT = 64 * 1024;

describe('rpc between the bus client and a Nest microservice', () => {
  let nats: TestServer;
  let app: INestMicroservice;
  let bus: Bus;
  let client: RpcClient;
  const errors: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: ({ error }, message) => void errors.push(`${message}: ${String(error)}`),
  };
  const call = (what: z.input<(typeof Act)['request']>, timeoutMs?: number) =>
    client.call({ contract: Act }, what, timeoutMs === undefined ? {} : { timeoutMs });
  const failure = async (work: Promise<unknown>): Promise<AppError> => {
    const cause = await work.then(
      () => undefined,
      (error: unknown) => error,
    );
    if (cause instanceof AppError) return cause;
    throw new Error('expected an AppError', { cause });
  };

  beforeAll(async () => {
    nats = await startNats({ maxPayloadBytes: LIMIT });
    app = await NestFactory.createMicroservice(ActModule, {
      ...rpcServerOptions({ target: natsTarget(nats.url), queue: 'act', logger, subjectParams: { owner: 'o-1' } }),
      logger: nestLogger(silentLogger),
    });
    app.useGlobalFilters(new RpcErrorFilter(logger));
    await app.listen();
    bus = connectBus({ url: nats.url, name: 'caller', logger: silentLogger, streams: [] });
    client = bus;
    await bus.waitUntilConnected();
  });

  afterAll(async () => {
    await bus.close(200);
    await app.close();
    await nats.stop();
  });

  beforeEach(() => void errors.splice(0));

  test('a server listens once NATS has its subscriptions', async () => {
    const proxy = await startProxy({ target: nats.port });
    const held = proxy.hold('request', { bytes: (seen) => seen.includes('SUB test.late.own') });
    const late = await NestFactory.createMicroservice(ActModule, {
      ...rpcServerOptions({
        target: natsTarget(proxy.url('nats')),
        ...{ queue: 'late', logger, subjectParams: { owner: 'late' } },
      }),
      logger: nestLogger(silentLogger),
    });
    try {
      let isListening = false;
      const listening = late.listen().then(() => (isListening = true));
      await held.reached;
      await new Promise(setImmediate);
      expect(isListening).toBe(false);
      held.release();
      await listening;
      expect(await client.call({ contract: Own, subject: 'test.late.own' }, {})).toEqual({ owner: 'me' });
    } finally {
      await late.close();
      await proxy.stop();
    }
  });

  test('a good reply arrives parsed, with the defaults of the contract', async () => {
    expect(await call({ do: 'echo' })).toEqual({ text: 'echo 1' });
    const many = await Promise.all(Array.from({ length: 100 }, (_, n) => call({ do: 'echo', n })));
    expect(many.map(({ text }) => text)).toEqual(Array.from({ length: 100 }, (_, n) => `echo ${n}`));
  });

  test('a pattern with a parameter is served on the subject of this process', async () => {
    expect(await client.call({ contract: Own, subject: 'test.o-1.own' }, {})).toEqual({ owner: 'me' });
    await expect(client.call({ contract: Own, subject: 'test.o-2.own' }, {})).rejects.toThrow(UnavailableError);
  });

  test('an AppError arrives as its class with message and details', async () => {
    const error = await failure(call({ do: 'conflict' }));
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({ message: 'busy', details: { runId: 'r1' } });
    expect(errors).toEqual([]);
  });

  test('an unexpected error is replied as internal without its text, and logged with it', async () => {
    const error = await failure(call({ do: 'defect' }));
    expect(error).toMatchObject({ code: 'internal', message: 'internal error' });
    expect(errors).toEqual(['an RPC handler failed unexpectedly: TypeError: the secret is 42']);
  });

  test('a payload that breaks the contract is refused before it is sent, and by the handler when it comes from elsewhere', async () => {
    const wrong: unknown = { do: 'fly' };
    const lax = rpc({ ...Act, request: z.unknown() });
    expect(await failure(client.call({ contract: Act }, wrong as never))).toMatchObject({ code: 'invalid_request' });
    expect(await failure(client.call({ contract: lax }, wrong))).toMatchObject({ code: 'invalid_request' });
  });

  test('a reply that violates the contract is an internal error', async () => {
    expect(await failure(call({ do: 'nothing' }))).toMatchObject({ code: 'internal' });
  });

  test('a reply above the limit of the server is an error at the caller, and the service continues', async () => {
    expect(await failure(call({ do: 'big', n: LIMIT + 1 }))).toMatchObject({ code: 'too_large' });
    expect(await failure(call({ do: 'big', n: LIMIT - 40 }))).toMatchObject({ code: 'too_large' });
    expect((await call({ do: 'big', n: LIMIT - 1_000 })).text).toHaveLength(LIMIT - 1_000);
    expect(await call({ do: 'echo' })).toEqual({ text: 'echo 1' });
  });

  test.each([
    { kind: 'ASCII', text: 'a line of "text"\n'.repeat(2_000) },
    { kind: 'many bytes each', text: '\u0000é€😀'.repeat(2_000) },
    { kind: 'half a surrogate pair', text: '\ud800x'.repeat(9_000) },
    { kind: 'few characters', text: 'short' },
  ])('a text is attached for a handler that takes that, if it is long: $kind', async ({ text }) => {
    const request = { name: 'report', text };
    const stored = Buffer.from(text).toString();
    const isLong = text.length > 16_384;
    expect(await client.call({ contract: Store }, request, { attaches: true })).toEqual({
      text: stored,
      isAttached: isLong,
    });
    const plain = await client.call({ contract: Store }, request);
    expect([Buffer.from(plain.text).toString(), plain.isAttached]).toEqual([stored, false]);
  });

  test('a request over the limit fails at the caller', async () => {
    const wide = rpc({ ...Act, request: z.unknown() });
    await expect(client.call({ contract: wide }, 'x'.repeat(LIMIT))).rejects.toThrow(TooLargeError);
    expect(bus.connected).toBe(true);
  });

  test('an invalid packet gets an error, and the service continues', async () => {
    const raw = await connect({ servers: nats.url });
    const attached = (value: unknown): Uint8Array => encodeAttached(value, [Buffer.from('text')]);
    const ofAttached = [
      attached({ pattern: Act.name, data: { do: 'echo' }, id: '1' }),
      attached({ pattern: Act.name, data: { do: 'echo' }, id: '1', attached: [['text', 3]] }),
      attached({ pattern: Act.name, data: { do: 'echo' }, id: '1', attached: [['text', 5]] }),
      attached({ pattern: Act.name, data: { do: 'echo' }, id: '1', attached: [['do', 4]] }),
      attached({ data: { do: 'echo' }, attached: [['text', 4]] }).subarray(0, 20),
      attached([]),
    ];
    for (const text of ['', '{', '[]', '"x"', '{"id":7,"data":{}}', '\u0001', ...ofAttached]) {
      const reply = await raw.request(Act.name, text, { timeout: 300 }).catch((cause: unknown) => cause);
      const isTimeout = reply instanceof NatsError && reply.code === String(ErrorCode.Timeout);
      expect(isTimeout || (reply as Msg).string().includes('"invalid_request"')).toBe(true);
    }
    await raw.close();
    expect(await call({ do: 'echo' })).toEqual({ text: 'echo 1' });
  });

  test('no server is unavailable, no answer is a deadline, an abort ends the wait with its reason', async () => {
    const nobody = rpc({ ...Act, name: 'test.nobody' });
    expect(await failure(client.call({ contract: nobody }, { do: 'echo' }))).toMatchObject({
      code: 'unavailable',
      retryable: true,
    });
    expect(await failure(call({ do: 'hang' }, 100))).toMatchObject({ code: 'deadline', details: { afterMs: 100 } });
    const stop = new AbortController();
    const waiting = client.call({ contract: Act }, { do: 'hang' }, { signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });

  test('kill -9 of the server ends waits at once, and both sides work again after its restart', async () => {
    const waiting = failure(call({ do: 'hang' }));
    await bus.ping(1_000);
    await nats.kill9();
    expect(await waiting).toMatchObject({ code: 'unavailable' });
    expect(await failure(call({ do: 'echo' }))).toMatchObject({ code: 'unavailable' });
    await nats.restart();
    expect(await waitFor(() => call({ do: 'echo' }), { what: 'a reply' })).toEqual({ text: 'echo 1' });
  });
});

describe('rpc over TLS', () => {
  test('the microservice and its caller show their certificates to a server that asks for them', async () => {
    const certificates = await makeCertificates();
    const { ca, caFile, client: own, server } = certificates;
    const nats = await startNats({
      config: ({ listen }) =>
        `listen: "${listen}"\ntls { cert_file: "${server.certFile}", key_file: "${server.keyFile}", ca_file: "${caFile}", verify: true, timeout: 20 }\n`,
    });
    const tls = { ca, cert: own.cert, key: own.key };
    const target = natsTarget(nats.url, { tls });
    const options = { target, queue: 'act', logger: silentLogger, subjectParams: { owner: 'o-1' } };
    const app = await NestFactory.createMicroservice(ActModule, {
      ...rpcServerOptions(options),
      logger: nestLogger(silentLogger),
    });
    await app.listen();
    const bus = connectBus({ url: nats.url, tls, name: 'caller', logger: silentLogger, streams: [] });
    await bus.waitUntilConnected(AbortSignal.timeout(30_000));

    expect(await bus.call({ contract: Act }, { do: 'echo' })).toEqual({ text: 'echo 1' });

    await bus.close(200);
    await app.close();
    await nats.stop();
    await certificates.remove();
  }, 60_000);
});
