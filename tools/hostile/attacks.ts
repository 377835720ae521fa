import { type Client, newThread } from './client.js';

/** Sends one request after the other until it is stopped. */
export interface Attack {
  readonly name: string;
  readonly once: (client: Client, threadId: string, signal: AbortSignal) => Promise<number>;
}

const MB = 1024 * 1024;
const manyKeys = (count: number): string =>
  `{"metadata":{${Array.from({ length: count }, (_, index) => `"k${index}":"v"`).join(',')}}}`;
const MILLION_KEYS = manyKeys(1_000_000);
const MANY_VALUES = `{"values":{"todos":[${'0,'.repeat(5 * MB)}0]}}`;
const DEEP = '['.repeat(10 * MB);
const TEXT = 'x'.repeat(512 * 1024);
const CSV = 'a,b,c\n'.repeat(50_000);

const run = (content: string, more: object = {}): object => ({
  assistant_id: 'lead_agent',
  input: { messages: [{ role: 'user', content }] },
  multitask_strategy: 'enqueue',
  ...more,
});

const upload = (): FormData => {
  const form = new FormData();
  for (let file = 0; file < 10; file += 1) form.append('files', new Blob([CSV]), `table-${file}.csv`);
  return form;
};

const statusOf = async (answer: Promise<{ readonly status: number }>): Promise<number> => (await answer).status;

/** The attacks of a hostile user, each repeated in separate lanes. */
export const attacks: readonly Attack[] = [
  {
    name: 'metadata of a million keys',
    once: (client, _id, signal) => statusOf(client.ask('POST', '/threads', MILLION_KEYS, signal)),
  },
  {
    name: 'five million values',
    once: (client, id, signal) => statusOf(client.ask('POST', `/threads/${id}/state`, MANY_VALUES, signal)),
  },
  {
    name: 'ten million brackets',
    once: (client, _id, signal) => statusOf(client.ask('POST', '/threads', DEEP, signal)),
  },
  {
    name: 'growing metadata',
    once: (client, id, signal) =>
      statusOf(
        client.ask('PATCH', `/threads/${id}`, { metadata: { [`k${Math.random()}`]: 'x'.repeat(60_000) } }, signal),
      ),
  },
  {
    name: 'large states',
    once: (client, id, signal) =>
      statusOf(
        client.ask('POST', `/threads/${id}/state`, { values: { messages: [{ role: 'user', content: TEXT }] } }, signal),
      ),
  },
  {
    name: 'checkpoints',
    once: (client, id, signal) =>
      statusOf(client.ask('POST', `/threads/${id}/state`, { values: { title: String(Math.random()) } }, signal)),
  },
  {
    name: 'histories',
    once: (client, id, signal) => statusOf(client.ask('POST', `/threads/${id}/history`, { limit: 1_000 }, signal)),
  },
  {
    name: 'states',
    once: (client, id, signal) => statusOf(client.ask('GET', `/threads/${id}/state`, undefined, signal)),
  },
  {
    name: 'searches',
    once: (client, _id, signal) =>
      statusOf(client.ask('POST', '/threads/search', { limit: 1_000, metadata: { none: 'such' } }, signal)),
  },
  { name: 'new threads', once: (client, _id, signal) => statusOf(client.ask('POST', '/threads', {}, signal)) },
  {
    name: 'streams',
    once: (client, id, signal) => statusOf(client.ask('POST', `/threads/${id}/runs/stream`, run('#tokens 50'), signal)),
  },
  {
    name: 'stateless runs',
    once: (client, _id, signal) => statusOf(client.ask('POST', '/runs/wait', run('#say hi'), signal)),
  },
  {
    name: 'uploads and conversions',
    once: (client, id, signal) => statusOf(client.ask('POST', `/threads/${id}/uploads`, upload(), signal)),
  },
];

/** Numbers of answers by status, per attack; status 0 counts requests that broke off. */
export type Tally = readonly (readonly [
  attack: string,
  counts: readonly (readonly [status: number, count: number])[],
])[];

/** Attacks at full speed until the signal: `lanes` requests of each kind at once. */
export async function attackUntil(signal: AbortSignal, client: Client, lanes: number): Promise<Tally> {
  const threadId = await newThread(client);
  const tally = new Map<string, Map<number, number>>();
  const lane = async ({ name, once }: Attack): Promise<void> => {
    const statuses = tally.get(name) ?? new Map<number, number>();
    tally.set(name, statuses);
    while (!signal.aborted) {
      const status = await once(client, threadId, signal).catch(() => 0);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(attacks.flatMap((attack) => Array.from({ length: lanes }, () => lane(attack))));
  return [...tally].map(([name, statuses]) => [name, [...statuses]]);
}
