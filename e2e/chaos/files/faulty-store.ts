import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { Random } from '../random.js';

/**
 * What becomes of a request that fails: it is refused, its connection breaks before the store gets all of it, or before the client gets
 * all of the answer to what the store has done.
 */
const FAILURES = { refused: 3, overloaded: 2, 'broken request': 3, 'broken answer': 2 } as const;
type Failure = keyof typeof FAILURES;

export interface FaultyStoreOptions {
  /** The port of the store on the loopback interface. */
  readonly target: number;
  readonly seed: number;
  /** The share of requests that fail, from 0 to 1. */
  readonly share: number;
}

/** A proxy before an object store of which a share of all requests fails. */
export interface FaultyStore {
  readonly url: string;
  /** Requests so far, and those of them that were made to fail. */
  readonly counts: { readonly requests: number; readonly failures: number };
  stop(): Promise<void>;
}

export async function startFaultyStore({ target, seed, share }: FaultyStoreOptions): Promise<FaultyStore> {
  const random = new Random(seed, 'store failures');
  const counts = { requests: 0, failures: 0 };
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const server = createServer((from, to) => {
    counts.requests += 1;
    const failure = random.chance(share) ? random.weighted(FAILURES) : undefined;
    if (failure !== undefined) counts.failures += 1;
    handle({ from, to, failure, agent, target });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    counts,
    stop: async () => {
      server.closeAllConnections();
      agent.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Passage {
  readonly from: IncomingMessage;
  readonly to: ServerResponse;
  readonly failure: Failure | undefined;
  readonly agent: Agent;
  readonly target: number;
}

const ERROR = (code: string): string =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>failed</Message></Error>`;

function handle(passage: Passage): void {
  const { from, to, failure } = passage;
  if (failure !== 'refused' && failure !== 'overloaded') return pass(passage);
  from.resume();
  const [status, code] = failure === 'refused' ? [500, 'InternalError'] : [503, 'SlowDown'];
  to.writeHead(status, { 'content-type': 'application/xml' }).end(from.method === 'HEAD' ? undefined : ERROR(code));
}

/** Passes a request to the store and its answer back; breaks both connections where the failure says so. */
function pass({ from, to, failure, agent, target }: Passage): void {
  const { method, url, headers, socket } = from;
  const there = httpRequest({ host: '127.0.0.1', port: target, method, path: url, headers, agent });
  const breakOff = (): void => {
    there.destroy();
    socket.destroy();
  };
  there.on('error', breakOff);
  from.on('error', breakOff);
  to.on('error', breakOff);
  to.on('close', () => void (to.writableFinished || there.destroy()));
  there.on('response', (answer) => {
    answer.on('error', breakOff);
    answer.on('aborted', breakOff);
    to.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    forward(answer, to, failure === 'broken answer' ? breakOff : undefined);
  });
  forward(from, there, failure === 'broken request' ? breakOff : undefined);
}

/** Copies a body; with `breakOff` about half of it, and then breaks the connections. */
function forward(body: IncomingMessage, to: NodeJS.WritableStream, breakOff: (() => void) | undefined): void {
  if (breakOff === undefined) {
    body.pipe(to);
    return;
  }
  const half = Math.floor(Number(body.headers['content-length'] ?? 0) / 2);
  let passed = 0;
  body.on('data', (chunk: Buffer) => {
    if (passed < half) to.write(chunk.subarray(0, half - passed));
    passed += chunk.length;
    // What was written so far gets out first.
    if (passed >= half) setTimeout(breakOff, 5);
  });
  body.on('end', () => setTimeout(breakOff, 5));
}
