import { type ApiFixture, manifestOf, openApi, quickClock } from '../../testing/api-fixture.js';
import { ApiConnection } from './api-connection.js';
import { podsApi } from './pods-api.js';

let fixture: ApiFixture;
beforeEach(async () => {
  fixture = await openApi();
});
afterEach(() => fixture.close());

const isPost = ({ method }: { readonly method: string }): boolean => method === 'POST';
const isGet = ({ method }: { readonly method: string }): boolean => method === 'GET';

describe('podsApi', () => {
  test('creates, reads, lists by labels, patches and deletes pods', async () => {
    const { api } = fixture;
    const made = await api.create(manifestOf('one', { labels: { 'caribou.dev/warm': 'true' } }));
    await api.create(manifestOf('two'));

    const changed = await api.patch(made, {
      labels: { 'caribou.dev/warm': null, 'caribou.dev/sandbox': 's' },
      annotations: {},
    });

    expect((await api.list('caribou.dev/sandbox=s')).pods.map(({ metadata }) => metadata.name)).toEqual(['one']);
    expect((await api.list('app.kubernetes.io/name=caribou-sandbox')).pods).toHaveLength(2);
    expect(changed?.metadata.labels).not.toHaveProperty(['caribou.dev/warm']);
    expect(await api.remove('one', { uid: made.metadata.uid, graceSeconds: 0 })).toBe(true);
    expect([await api.get('one'), await api.remove('one', { uid: made.metadata.uid })]).toEqual([null, false]);
  });

  test('deletes and patches only the pod and the version that it was given', async () => {
    const { api } = fixture;
    const made = await api.create(manifestOf('one'));
    const patch = { labels: { a: 'b' }, annotations: {} };
    expect(await api.patch(made, patch)).not.toBeNull();

    expect(await api.patch(made, patch)).toBeNull();
    expect(await api.remove('one', { uid: 'another' })).toBe(false);
    expect((await api.get('one'))?.metadata.deletionTimestamp).toBeUndefined();
  });

  test('reads a list to its last page', async () => {
    const { api, server } = fixture;
    const count = 1_203;
    for (let index = 0; index < count; index += 1)
      server.cluster.add({ metadata: { name: `pod-${index}`, labels: { all: 'yes' } }, spec: {} });

    expect((await api.list('all=yes')).pods).toHaveLength(count);
  });

  test.each([
    ['too many requests', { status: 429, retryAfter: 1 }],
    ['an internal error', { status: 500 }],
    ['an unavailable server', { status: 503 }],
    ['a cut connection', {}],
  ])('repeats a request after %s', async (_, fault) => {
    const { api, server } = fixture;
    await api.create(manifestOf('one'));
    const met = server.faults.add({ on: isGet, times: 2, ...fault });

    expect((await api.get('one'))?.metadata.name).toBe('one');
    expect(met.met()).toBe(2);
  });

  test('waits as long as the server asks for, and not longer than it may', async () => {
    const { server, connection } = fixture;
    const pauses: number[] = [];
    const clock = { ...quickClock, sleep: (ms: number) => (pauses.push(ms), Promise.resolve()) };
    const api = podsApi(connection, 'caribou-sandboxes', { clock, random: () => 0 });
    server.faults.add({ on: isGet, status: 429, retryAfter: 2 });
    server.faults.add({ on: isPost, status: 429, retryAfter: 120 });

    expect(await api.get('none')).toBeNull();
    expect(pauses).toEqual([2_050]);
    await expect(api.create(manifestOf('one'))).rejects.toMatchObject({ httpStatus: 429, retryAfterMs: 120_000 });
  });

  test('gives up after a bounded number of attempts, with the reason', async () => {
    const { api, server } = fixture;
    const met = server.faults.add({ on: isGet, times: 100, status: 500, message: 'etcd is away' });

    await expect(api.get('one')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('etcd is away'),
    });
    expect(met.met()).toBe(6);
  });

  test('makes one pod when the answer of a create is lost', async () => {
    const { api, server } = fixture;
    server.faults.add({ on: isPost, isDone: true });

    expect((await api.create(manifestOf('one'))).metadata.name).toBe('one');
    expect(server.created).toHaveLength(1);
    await expect(api.create(manifestOf('one'))).rejects.toMatchObject({ httpStatus: 409 });
  });

  test('gives up an answer that does not come', async () => {
    const { server, connection } = fixture;
    server.faults.add({ on: isGet, hangs: true });

    await expect(
      connection.send({ verb: 'get', resource: 'pods', namespace: 'n', method: 'GET', path: '/hangs' }, 50),
    ).rejects.toMatchObject({ message: 'kubernetes: the API server does not answer: its time is up' });
  });

  test('says that no server listens, and that the credentials are wrong', async () => {
    const { server } = fixture;
    const wrong = new ApiConnection({ server: server.url, token: () => Promise.resolve('wrong') });
    const apiOf = (connection: ApiConnection) =>
      podsApi(connection, 'caribou-sandboxes', { clock: quickClock, random: () => 0 });

    await expect(apiOf(wrong).get('one')).rejects.toThrow(/does not accept the credentials/);
    wrong.close();
    await server.stop();
    await expect(fixture.api.get('one')).rejects.toThrow(/nothing listens at its address/);
  });

  test('asks what the service account may do', async () => {
    const { api, server } = fixture;
    server.denied.add('delete');

    expect([await api.mayI({ verb: 'create' }), await api.mayI({ verb: 'delete' })]).toEqual([true, false]);
  });
});

describe('a refusal', () => {
  const refusals: readonly (readonly [string, string, RegExp])[] = [
    [
      'a used-up quota',
      'exceeded quota: team, requested: pods=1, used: pods=9, limited: pods=9',
      /^kubernetes: the quota of namespace caribou-sandboxes is used up: .*limited: pods=9/,
    ],
    [
      'a policy',
      'admission webhook "no-latest.example" denied the request: no tag',
      /^kubernetes: a policy of the cluster refuses the pod: .*no tag/,
    ],
    [
      'a runtime class that does not exist',
      'pod rejected: RuntimeClass "gvisor" not found',
      /^kubernetes: the runtime class of sandbox.kubernetes.runtime_class does not exist/,
    ],
    [
      'a service account that does not exist',
      'error looking up service account caribou-sandboxes/x: serviceaccount "x" not found',
      /sandbox.kubernetes.service_account does not exist/,
    ],
    [
      'the standard of the namespace',
      'violates PodSecurity "restricted:latest": seccompProfile',
      /label it for "restricted"/,
    ],
  ];

  test.each(refusals)('for %s says what to change', async (_, text, expected) => {
    fixture.server.admit = () => text;

    await expect(fixture.api.create(manifestOf('one'))).rejects.toThrow(expected);
    expect(fixture.server.cluster.list()).toEqual([]);
  });

  test('names the right that is missing, and the namespace that does not exist', async () => {
    const { server, connection, api } = fixture;
    server.denied.add('create');
    const elsewhere = podsApi(connection, 'none', { clock: quickClock, random: () => 0 });

    await expect(api.create(manifestOf('one'))).rejects.toThrow(
      /lacks a role with verb "create" on "pods" in namespace caribou-sandboxes/,
    );
    await expect(elsewhere.list('')).rejects.toThrow(/sandbox.kubernetes.namespace does not exist/);
  });
});
