import { createLogger } from '@caribou/observability';
import type { RedisConnection } from '@caribou/state';
import type { OpenGateway } from '../open-gateway.js';
import { useGateways } from './gateway-fixture.js';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'HEAD';

const CONFIG = [
  'quotas:',
  '  max_threads_per_user: 30',
  '  max_state_bytes: 2097152',
  '  requests_per_second: 20',
  '  request_burst: 1500',
  '',
].join('\n');
const USERS = ['alice', 'bob', 'carol', 'erin', 'dora', 'emil'];
const API_KEYS = [...USERS.map((user) => `${user}-key-1:${user}`), 'root-key-1:root:admin'].join(',');

export const runOf = (more: object) => ({ assistant_id: 'lead_agent', input: { messages: 'hi' }, ...more });

/** An object of `count` keys. */
export const manyKeys = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]));

/** Clients of a gateway with low quotas, whose users have a key each. */
export class QuotaClient {
  constructor(
    readonly gateway: OpenGateway,
    readonly redis: RedisConnection,
    /** Lines that the gateway has logged. */
    readonly logged: readonly string[],
  ) {}

  async send(method: Method, url: string, payload?: unknown, user = 'alice') {
    return await this.gateway.app.inject({
      method,
      url: `/api${url}`,
      headers: {
        'x-api-key': `${user}-key-1`,
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(payload === undefined ? {} : { payload: typeof payload === 'string' ? payload : JSON.stringify(payload) }),
    });
  }

  /** Status and `detail` of the reply. */
  async refusal(method: Method, url: string, payload: unknown) {
    const { statusCode, body } = await this.send(method, url, payload);
    return [statusCode, (JSON.parse(body) as { detail: string }).detail];
  }

  async newThread(user = 'alice'): Promise<string> {
    return (await this.send('POST', '/threads', {}, user)).json<{ thread_id: string }>().thread_id;
  }

  addMessages(threadId: string, messages: unknown, user = 'alice') {
    return this.send('POST', `/threads/${threadId}/state`, { values: { messages } }, user);
  }

  async messagesOf(threadId: string) {
    return (await this.send('GET', `/threads/${threadId}/state`)).json<{
      values: { messages: { id: string; type: string; content: string }[] };
    }>().values.messages;
  }
}

/** Opens a gateway with low quotas around the tests of the file. */
export function useQuotaClient(receive: (client: QuotaClient) => void): void {
  const fixture = useGateways({ appendonly: false });

  beforeAll(async () => {
    const logged: string[] = [];
    const destination = { write: (line: string) => void logged.push(line) };
    const gateway = await fixture.open({
      config: CONFIG,
      env: { CARIBOU_API_KEYS: API_KEYS },
      logger: createLogger({ service: 'gateway', level: 'info', destination }),
    });
    receive(new QuotaClient(gateway, fixture.connectRedis(), logged));
  }, 30_000);
}
