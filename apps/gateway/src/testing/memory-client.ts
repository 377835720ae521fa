import { MemoryDocument } from '@caribou/contracts';
import type { OpenGateway } from '../open-gateway.js';
import type { GatewayFixture } from './gateway-fixture.js';

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** Opens a gateway for these users before the tests of the file. */
export function useMemoryGateway(
  fixture: GatewayFixture,
  users: readonly string[],
  receive: (gateway: OpenGateway) => void,
): void {
  beforeAll(async () => {
    const keys = users.map((user) => `${user}-key-1:${user}`).join(',');
    receive(await fixture.open({ env: { CARIBOU_API_KEYS: keys } }));
  }, 30_000);
}

/** The requests of a user; a path without a slash in front is below the memory's. */
export const memoryClient =
  (gateway: () => OpenGateway) =>
  (user: string) =>
  async (method: Method, path: string, payload?: object): Promise<Reply> => {
    const reply = await gateway().app.inject({
      method,
      url: path.startsWith('/') ? path : `/api/memory${path === '' ? '' : `/${path}`}`,
      headers: { 'x-api-key': `${user}-key-1` },
      ...(payload === undefined ? {} : { payload }),
    });
    return { status: reply.statusCode, body: reply.body === '' ? undefined : reply.json<unknown>() };
  };

/** The memory of a reply. */
export function documentOf({ status, body }: Reply): MemoryDocument {
  expect({ status, body }).toMatchObject({ status: 200 });
  return MemoryDocument.parse(body);
}
