import { isDeepStrictEqual } from 'node:util';
import { httpRoutes, type RouteContract } from '@caribou/contracts';
import type { RedisConnection } from '@caribou/state';
import { patternsOf } from '../auth/route-roles.js';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from '../testing/gateway-fixture.js';
import { createOwnedData, MARKER, type OwnedIds } from '../testing/owned-data.js';
import { storedFilesConfig } from '../testing/stored-files-client.js';
import { paramsOf, type SweepCase, sweepCases } from '../testing/sweep-cases.js';

const KEYS = { owner: 'owner-key-1', other: 'other-key-1', third: 'third-key-1', root: 'root-key-12' };
const CARIBOU_API_KEYS = Object.entries(KEYS)
  .map(([user, key]) => `${key}:${user}${user === 'root' ? ':admin' : ''}`)
  .join(',');

const fixture = useGateways();
let gateway: OpenGateway;
let redis: RedisConnection;
let ids: OwnedIds;

beforeAll(async () => {
  const config = `${storedFilesConfig(fixture)}agents_api: {enabled: true}\nclocks: {sweep_ms: 60000}\n`;
  gateway = await fixture.open({ config, env: { CARIBOU_API_KEYS } });
  redis = fixture.connectRedis();
  ids = await createOwnedData(fixture, gateway, { userId: 'owner', key: KEYS.owner });
}, 60_000);

/** Routes whose answer to the owner has the text that all data of the owner have. */
const SHOWN_TO_OWNER: ReadonlySet<string> = new Set([
  ...['searchThreads', 'getThread', 'getThreadState', 'getThreadStateAt', 'getThreadHistory', 'listMessages'],
  ...['getMessagesOfRun', 'getMessagesOfRunById', 'getRun', 'listFeedback', 'listFeedbackOfRun'],
  ...['listTasks', 'getTask', 'listScheduledTasks', 'getScheduledTask', 'getArtifact', 'getFileContent'],
  ...['listSkills', 'getSkill', 'searchAssistants', 'getAssistant', 'listAgents', 'getAgent', 'getUserProfile'],
  ...['getItem', 'searchItems', 'getMemory', 'listMemoryFacts', 'exportMemory'],
]);

const urlOf = (pattern: string, params: Readonly<Record<string, string>>): string =>
  pattern.replaceAll(/:(\w+)|\*/g, (found, name: string | undefined) => params[name ?? found] ?? 'x');
function urlOfCase({ path }: RouteContract, one: SweepCase | undefined): string {
  const url = urlOf(`/api${path}`, { ...paramsOf(ids), ...one?.params });
  return one?.query === undefined ? url : `${url}?${one.query}`;
}
const routesFor = (...roles: readonly RouteContract['role'][]) => httpRoutes.filter(({ role }) => roles.includes(role));

/** Everything in Redis that has the owner's id in its key, byte by byte. */
async function ownersRecords(): Promise<Readonly<Record<string, string>>> {
  const keys = (await redis.use((client) => client.keys('*owner*'))).sort();
  const values = await redis.use((client) => Promise.all(keys.map((key) => client.dumpBuffer(key))));
  return Object.fromEntries(keys.map((key, at) => [key, values[at]?.toString('base64') ?? '']));
}

async function send({ method }: RouteContract, url: string, key: string, given: Partial<SweepCase> = {}) {
  const { body, headers, isStream = false } = given;
  const reply = await gateway.app.inject({
    method,
    url,
    headers: { 'x-api-key': key, ...headers },
    ...(body === undefined ? {} : { payload: body }),
    payloadAsStream: isStream,
  });
  if (!isStream) return { status: reply.statusCode, body: reply.body };
  reply.stream().destroy();
  return { status: reply.statusCode, body: '' };
}

describe('every route', () => {
  test('is served, and without credentials it answers 401 unless it is public', async () => {
    for (const route of httpRoutes)
      for (const pattern of patternsOf(route)) {
        const url = urlOf(pattern, paramsOf(ids));
        const { statusCode, headers } = await gateway.app.inject({ method: route.method, url });
        expect({ url, refused: statusCode === 401, login: 'www-authenticate' in headers }).toEqual({
          url,
          refused: route.role !== 'public',
          login: false,
        });
      }
  });

  test('for administrators refuses other users before it reads a body', async () => {
    for (const route of routesFor('administrator'))
      for (const pattern of patternsOf(route)) {
        const headers = { 'content-type': 'application/json' };
        const given = { headers, ...(route.method === 'GET' ? {} : { body: '{"not": JSON' }) };
        const { status, body } = await send(route, urlOf(pattern, paramsOf(ids)), KEYS.other, given);
        expect({ pattern, status, body }).toEqual({
          pattern,
          status: 403,
          body: '{"detail":"this route is for administrators"}',
        });
      }
  });

  test('for users has a case in the sweep, and the sweep has no other', () => {
    expect(Object.keys(sweepCases(ids)).sort()).toEqual(
      routesFor('user')
        .map(({ name }) => name)
        .sort(),
    );
  });

  test('shows and changes nothing of another user', async () => {
    const before = await ownersRecords();
    expect(Object.keys(before).length).toBeGreaterThan(20);
    const cases = sweepCases(ids);
    const answers: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    for (const route of routesFor('user')) {
      const one = cases[route.name];
      const { status, body } = await send(route, urlOfCase(route, one), one?.makesOwn ? KEYS.third : KEYS.other, one);
      const changes = !isDeepStrictEqual(await ownersRecords(), before);
      answers[route.name] = { status, changes, shows: body.includes(MARKER) };
      expected[route.name] = { status: one?.status, changes: false, shows: false };
    }

    expect(answers).toEqual(expected);
  });

  test('shows the owner what others did not get, so that the sweep looks for something', async () => {
    const cases = sweepCases(ids);
    const hidden: string[] = [];
    for (const route of httpRoutes.filter(({ name }) => SHOWN_TO_OWNER.has(name))) {
      const one = cases[route.name];
      const { status, body } = await send(route, urlOfCase(route, one), KEYS.owner, one);
      if (status !== 200 || !body.includes(MARKER)) hidden.push(`${route.name} ${status}`);
    }

    expect(hidden).toEqual([]);
  });

  test('that changes something of the owner would be noticed', async () => {
    const before = await ownersRecords();
    const { patchThread } = Object.fromEntries(httpRoutes.map((route) => [route.name, route]));
    if (patchThread === undefined) throw new Error('there is no route patchThread');
    await send(patchThread, urlOfCase(patchThread, undefined), KEYS.owner, { body: { metadata: { a: 1 } } });

    expect(isDeepStrictEqual(await ownersRecords(), before)).toBe(false);
  });
});
