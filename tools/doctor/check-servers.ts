import { connectBus } from '@caribou/bus';
import type { Config } from '@caribou/config';
import { silentLogger } from '@caribou/core';
import { checkRedis, createRedis } from '@caribou/state';
import { type Finding, fail, ok, reasonOf, warn } from './finding.js';
import { type Greeting, natsGreeting } from './nats-greeting.js';
import type { DoctorContext } from './doctor-context.js';

const CONNECT_MS = 5_000;
/** A reply of the bus with its frame. */
const LEAST_PAYLOAD_BYTES = 1024 * 1024;

/** Whether the variable, or the one with its file, is set. */
const isSet = (env: DoctorContext['env'], name: string): boolean =>
  [name, `${name}_FILE`].some((variable) => (env[variable]?.trim() ?? '') !== '');

/** Checks the NATS that NATS_URL names, else the program that `npm start` runs. */
export async function checkNats(config: Config, context: DoctorContext): Promise<readonly Finding[]> {
  if (!isSet(context.env, 'NATS_URL')) return [privateServer('nats', 'nats-server', 'NATS_URL', context)];
  const url = config.nats.url.reveal();
  const fix = 'check NATS_URL, user and password, certificates (docs/access.md), and that nats-server runs there';
  const greeting = await natsGreeting(url, CONNECT_MS);
  if (greeting === 'no answer') return [fail('nats', 'no nats-server answers at the address in NATS_URL', fix)];
  const bus = connectBus({
    url,
    ...config.nats.security.reveal(),
    name: 'caribou-doctor',
    logger: silentLogger,
    streams: [],
  });
  try {
    await bus.waitUntilConnected(AbortSignal.timeout(CONNECT_MS));
    return greeting === 'not asked' ? [ok('nats', 'connected')] : judgeGreeting(greeting);
  } catch (error) {
    return [fail('nats', `the nats-server in NATS_URL refuses the connection (${reasonOf(error)})`, fix)];
  } finally {
    await bus.close();
  }
}

function judgeGreeting({ version, jetstream, max_payload: maxPayload }: Greeting): readonly Finding[] {
  const lines = [
    jetstream
      ? ok('nats', `connected, nats-server ${version} with JetStream`)
      : fail(
          'nats',
          `nats-server ${version} has no JetStream`,
          'start it with -js, or jetstream {} in its configuration',
        ),
  ];
  if (maxPayload >= LEAST_PAYLOAD_BYTES) return lines;
  const fix = `set max_payload to ${LEAST_PAYLOAD_BYTES} or more`;
  return [...lines, fail('nats', `messages may have ${maxPayload} bytes only`, fix)];
}

/** Checks the Redis that REDIS_URL names and its settings, else the program that `npm start` runs. */
export async function checkRedisServer(config: Config, context: DoctorContext): Promise<readonly Finding[]> {
  if (!isSet(context.env, 'REDIS_URL')) return [privateServer('redis', 'redis-server', 'REDIS_URL', context)];
  const redis = createRedis({
    url: config.redis.url.reveal(),
    ...config.redis.security.reveal(),
    commandTimeoutMs: CONNECT_MS,
  });
  try {
    const found = await checkRedis(redis);
    const fix = 'set it in redis.conf, or by CONFIG SET';
    return [
      ok('redis', 'connected'),
      ...found.map(({ level, message }) => (level === 'error' ? fail : warn)('redis', message, fix)),
    ];
  } catch (error) {
    const fix = 'check REDIS_URL, user and password, certificates (docs/access.md), and that redis-server runs there';
    return [fail('redis', `no connection to the server in REDIS_URL (${reasonOf(error)})`, fix)];
  } finally {
    await redis.close();
  }
}

function privateServer(topic: string, program: string, variable: string, { findProgram }: DoctorContext): Finding {
  const path = findProgram(program);
  if (path !== undefined) return ok(topic, `\`npm start\` runs a private one: ${path}`);
  if (findProgram('apt-get') !== undefined)
    return warn(topic, `${program} is not installed`, '`npm start` installs it with apt-get');
  return fail(topic, `${program} is not installed`, `install it, or set ${variable} to your own server`);
}
