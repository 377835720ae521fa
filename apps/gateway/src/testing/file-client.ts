import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { OpenGateway } from '../open-gateway.js';
import type { GatewayFixture } from './gateway-fixture.js';

interface Part {
  readonly name: string;
  readonly content: string;
  readonly field?: string;
}

interface RequestOptions {
  readonly headers?: object;
  readonly payload?: string;
  readonly key?: string;
}

const BOUNDARY = 'caribou-boundary';

export const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

export const partText = ({ name, content, field = 'files' }: Part): string =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${field}"; filename="${name}"\r\n` +
  `Content-Type: application/octet-stream\r\n\r\n${content}\r\n`;

/** A client of the upload and artifact routes, and the directories behind them. */
export class FileClient {
  constructor(
    private readonly gateway: OpenGateway,
    private readonly home: string,
    /** Where the gateway listens, on loopback. */
    readonly port: number,
  ) {}

  dataOf(thread: string, user = 'alice'): string {
    return join(this.home, 'users', user, 'threads', thread, 'user-data');
  }

  /** Names of the uploads on disk. */
  names(thread: string): string[] {
    return readdirSync(join(this.dataOf(thread), 'uploads')).sort();
  }

  inject(
    method: 'GET' | 'POST' | 'DELETE' | 'HEAD',
    url: string,
    { headers = {}, payload, key = 'alice-key-1' }: RequestOptions = {},
  ) {
    return this.gateway.app.inject({
      method,
      url,
      headers: { 'x-api-key': key, ...headers },
      ...(payload === undefined ? {} : { payload }),
    });
  }

  upload(thread: string, ...parts: readonly Part[]) {
    return this.inject('POST', `/api/threads/${thread}/uploads`, {
      headers: FORM,
      payload: `${parts.map(partText).join('')}--${BOUNDARY}--\r\n`,
    });
  }

  artifact(thread: string, path: string, headers: object = {}, method: 'GET' | 'HEAD' = 'GET') {
    return this.inject(method, `/api/threads/${thread}/artifacts/mnt/user-data/${path}`, { headers });
  }

  /** Sends a request whose target no library has normalised. @returns the whole reply */
  fetchRaw(target: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let answer = '';
      const socket = connect(this.port, '127.0.0.1');
      socket.on('data', (bytes: Buffer) => (answer += bytes.toString('latin1')));
      socket.on('error', reject);
      socket.on('end', () => resolve(answer));
      socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nX-Api-Key: alice-key-1\r\nConnection: close\r\n\r\n`);
    });
  }
}

/** Opens a listening gateway with small limits of uploads for the tests of the file; each must log no error. */
export function useFileClient(fixture: GatewayFixture, receive: (client: FileClient) => void): void {
  beforeAll(async () => {
    const gateway = await fixture.open({
      config: 'uploads: { max_files: 3, max_file_size: 1000, max_total_size: 2000 }\n',
      env: { CARIBOU_API_KEYS: 'alice-key-1:alice,bob-key-123:bob' },
    });
    await gateway.app.listen(0, '127.0.0.1');
    receive(new FileClient(gateway, fixture.home, Number(new URL(await gateway.app.getUrl()).port)));
  }, 30_000);

  afterEach(() => expect(fixture.faults.splice(0)).toEqual([]));
}
