import { randomUUID } from 'node:crypto';
import { ASSISTANT, contentsOf, type Entry, newThread, refused, saying, UNKNOWN_PATH, works } from './entry.js';

/** The calls of `client.assistants`. */
const assistantCalls: readonly Entry[] = [
  works(
    'assistants.search',
    'the lead agent, custom agents and stored [assistants](assistants.md)',
    async ({ client }) => {
      const { assistants, next } = await client.assistants.search({
        limit: 1,
        sortBy: 'name',
        includePagination: true,
      });
      expect(assistants).toMatchObject([{ graph_id: ASSISTANT }]);
      expect(next === null || /^\d+$/.test(next)).toBe(true);
    },
  ),
  works('assistants.count', '', async ({ client }) => {
    expect(await client.assistants.count({ graphId: ASSISTANT })).toBeGreaterThan(0);
  }),
  works('assistants.get', '', async ({ client }) => {
    expect(await client.assistants.get(ASSISTANT)).toMatchObject({ graph_id: ASSISTANT });
  }),
  works('assistants.getGraph', '`xray` changes nothing', async ({ client }) => {
    expect((await client.assistants.getGraph(ASSISTANT, { xray: true })).nodes.length).toBeGreaterThan(2);
  }),
  works('assistants.getSchemas', '', async ({ client }) => {
    expect(await client.assistants.getSchemas(ASSISTANT)).toMatchObject({ graph_id: ASSISTANT });
  }),
  works('assistants.getSubgraphs', 'empty: there are none', async ({ client }) => {
    expect(await client.assistants.getSubgraphs(ASSISTANT, { namespace: 'x', recurse: true })).toEqual({});
    expect(await client.assistants.getSubgraphs(ASSISTANT)).toEqual({});
  }),
  works('assistants.create', 'settings of runs under an id; `ifExists`', async (proof) => {
    const { client } = proof;
    const assistant = await client.assistants.create({
      graphId: ASSISTANT,
      name: 'Ann',
      context: { disable_clarification: true },
    });
    const values = await client.runs.wait(await newThread(proof), assistant.assistant_id, saying());
    expect(contentsOf(values)).toEqual(['#say Hello.', 'Hello.']);
    const again = { graphId: ASSISTANT, assistantId: assistant.assistant_id };
    expect(await client.assistants.create({ ...again, ifExists: 'do_nothing' })).toEqual(assistant);
    await expect(client.assistants.create(again)).rejects.toMatchObject({ status: 409 });
  }),
  works('assistants.update', 'writes a version; custom agents and the lead agent are a 400', async ({ client }) => {
    const { assistant_id: id } = await client.assistants.create({ graphId: ASSISTANT, metadata: { a: 1 } });
    expect(await client.assistants.update(id, { name: 'B', metadata: { b: 2 } })).toMatchObject({
      version: 2,
      metadata: { a: 1, b: 2 },
    });
    await expect(client.assistants.update(ASSISTANT, { name: 'B' })).rejects.toMatchObject({ status: 400 });
  }),
  works('assistants.delete', '`deleteThreads` too', async ({ client }) => {
    const { assistant_id: id } = await client.assistants.create({ graphId: ASSISTANT });
    await client.assistants.delete(id, { deleteThreads: true });
    await expect(client.assistants.get(id)).rejects.toMatchObject({ status: 404 });
  }),
  works('assistants.getVersions', 'the newest 20 are stored', async ({ client }) => {
    const { assistant_id: id } = await client.assistants.create({ graphId: ASSISTANT });
    await client.assistants.update(id, { name: 'B' });
    expect((await client.assistants.getVersions(id)).map(({ version }) => version)).toEqual([2, 1]);
  }),
  works('assistants.setLatest', '', async ({ client }) => {
    const { assistant_id: id } = await client.assistants.create({ graphId: ASSISTANT, name: 'A' });
    await client.assistants.update(id, { name: 'B' });
    expect(await client.assistants.setLatest(id, 1)).toMatchObject({ name: 'A', version: 1 });
  }),
];

/** The calls of `client.store`. */
const storeCalls: readonly Entry[] = [
  works('store.putItem', '`index`, `ttl`; see [store](store.md)', async ({ client }) => {
    const namespace = [randomUUID(), 'b'];
    await client.store.putItem(namespace, 'k', { n: 1 }, { index: ['n'], ttl: 5 });
    expect(await client.store.getItem(namespace, 'k')).toMatchObject({ value: { n: 1 } });
  }),
  works('store.getItem', '`refreshTtl`', async ({ client }) => {
    const namespace = [randomUUID(), 'b'];
    await client.store.putItem(namespace, 'k', { n: 1 });
    expect(await client.store.getItem(namespace, 'k', { refreshTtl: false })).toMatchObject({
      namespace,
      value: { n: 1 },
    });
    expect(await client.store.getItem(namespace, 'none')).toBeNull();
  }),
  works('store.deleteItem', '', async ({ client }) => {
    const namespace = [randomUUID()];
    await client.store.putItem(namespace, 'k', { n: 1 });
    await client.store.deleteItem(namespace, 'k');
    expect(await client.store.getItem(namespace, 'k')).toBeNull();
  }),
  works('store.searchItems', '`filter`, `query`, pages', async ({ client }) => {
    const namespace = [randomUUID()];
    await client.store.putItem(namespace, 'cats', { text: 'cats purr', n: 1 });
    await client.store.putItem(namespace, 'dogs', { text: 'dogs bark', n: 2 });
    const found = async (options: object) =>
      (await client.store.searchItems(namespace, options)).items.map(({ key }) => key);
    expect([await found({ filter: { n: { $gt: 1 } } }), await found({ query: 'a cats' })]).toEqual([
      ['dogs'],
      ['cats'],
    ]);
  }),
  works('store.listNamespaces', '', async ({ client }) => {
    const first = randomUUID();
    await client.store.putItem([first, 'b', 'c'], 'k', {});
    expect(await client.store.listNamespaces({ prefix: [first], maxDepth: 2 })).toEqual({ namespaces: [[first, 'b']] });
  }),
];

const cron = { schedule: '0 7 * * *', ...saying() };

/** The calls of `client.crons`. */
const cronCalls: readonly Entry[] = [
  works('crons.create', 'on a thread of its own each time: [crons](crons.md)', async ({ client }) => {
    const made = await client.crons.create(ASSISTANT, { ...cron, timezone: 'Europe/Berlin' });
    expect(made).toMatchObject({ schedule: '0 7 * * *', timezone: 'Europe/Berlin', enabled: true });
  }),
  works('crons.createForThread', '', async (proof) => {
    const threadId = await newThread(proof);
    const made = await proof.client.crons.createForThread(threadId, ASSISTANT, cron);
    expect(made.thread_id).toBe(threadId);
  }),
  works('crons.update', '', async ({ client }) => {
    const { cron_id: id } = await client.crons.create(ASSISTANT, cron);
    expect(await client.crons.update(id, { enabled: false })).toMatchObject({ enabled: false, next_run_date: null });
  }),
  works('crons.delete', '', async (proof) => {
    const { client } = proof;
    const threadId = await newThread(proof);
    const { cron_id: id } = await client.crons.createForThread(threadId, ASSISTANT, cron);
    await client.crons.delete(id);
    expect(await client.crons.search({ threadId })).toEqual([]);
  }),
  works('crons.search', 'filters, `select`, sorting, pages', async (proof) => {
    const { client } = proof;
    const threadId = await newThread(proof);
    const { cron_id: id } = await client.crons.createForThread(threadId, ASSISTANT, cron);
    expect(await client.crons.search({ threadId, select: ['cron_id'] })).toEqual([{ cron_id: id }]);
  }),
  works('crons.count', '', async (proof) => {
    const threadId = await newThread(proof);
    await proof.client.crons.createForThread(threadId, ASSISTANT, cron);
    expect(await proof.client.crons.count({ threadId })).toBe(1);
  }),
];

const uiCalls: readonly Entry[] = [
  refused('~ui.getComponent', 'no components of agents', UNKNOWN_PATH, ({ client }) =>
    client['~ui'].getComponent(ASSISTANT, randomUUID()),
  ),
];

export const otherCalls: readonly Entry[] = [...assistantCalls, ...storeCalls, ...cronCalls, ...uiCalls];
