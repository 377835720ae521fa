import { randomBytes } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { sendJson } from '../../demo-model/answer.js';
import { ModelApiError } from '../../demo-model/api-error.js';
import { Control, type RequestRecord } from '../../demo-model/control.js';
import { listen } from '../../demo-model/server.js';
import { sendHttpAnswer } from './answer.js';
import { serveControl } from './control-routes.js';
import { exchange, type ExchangeContext, refusalOf } from './exchange.js';
import { IssuedExtras } from './issued-extras.js';
import type { Problem } from './problem.js';
import type { IgnoredField, ProviderReplay, ProviderReplayOptions, RefusedRequest, ReplayedRequest } from './replay.js';
import { TokenSums } from './token-sums.js';
import type { Vendor } from './vendor.js';

const MAX_REFUSALS = 1_000;
const MAX_IGNORED = 1_000;
const MAX_DETAILS = 1_000;

/** Starts a server that checks and answers as the vendor documents; resolves when it listens. */
export async function startProviderReplay(options: ProviderReplayOptions): Promise<ProviderReplay> {
  const host = options.host ?? '127.0.0.1';
  const state = new ReplayState(options);
  const server = createServer((req, res) => {
    req.socket.setNoDelay(true);
    void serve(req, res, { state, replay });
  });
  const port = await listen(server, options.port ?? 0, host);
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const replay = state.replayAt(url, port, server);
  return replay;
}

/** Everything one server stores; all of it is bounded. */
class ReplayState {
  readonly vendor: Vendor;
  private readonly control = new Control();
  private readonly issued = new IssuedExtras();
  private readonly sums = new TokenSums();
  private readonly details = new Map<number, { path: string; headers: IncomingHttpHeaders }>();
  private readonly refused: RefusedRequest[] = [];
  private readonly ignored: IgnoredField[] = [];
  private readonly problems: Problem[] = [];
  private readonly prefix = randomBytes(6).toString('hex');
  private count = 0;

  constructor(private readonly options: ProviderReplayOptions) {
    this.vendor = options.vendor.open({ extras: this.issued });
  }

  exchangeContext(): ExchangeContext {
    const { apiKey, models, contextTokens, cutSeed } = this.options;
    return {
      vendor: this.vendor,
      control: this.control,
      apiKey,
      models: models === undefined ? undefined : new Set(models),
      contextTokens,
      cutSeed,
      nextResponseId: () => `${this.prefix}${(this.count++).toString(36).padStart(4, '0')}`,
      takeProblem: () => this.problems.shift(),
      onRequest: (record, path, headers) => {
        this.details.set(record.id, { path, headers });
        this.details.delete(record.id - MAX_DETAILS);
      },
      onRefusal: (record, rule, { status, body }) => {
        this.refused.push({ id: record.id, rule, status, body });
        if (this.refused.length > MAX_REFUSALS) this.refused.shift();
      },
      onIgnored: ({ id }, fields) => {
        this.ignored.push(...fields.map((field) => ({ id, field })));
        this.ignored.splice(0, this.ignored.length - MAX_IGNORED);
      },
      onUsage: (model, usage) => this.sums.add(model, usage),
    };
  }

  replayAt(url: string, port: number, server: Server): ProviderReplay {
    return {
      vendor: this.options.vendor.name,
      url,
      baseUrl: `${url}${this.vendor.basePath}`,
      port,
      requests: (contains) => this.control.requests(contains).map((record) => this.withDetails(record)),
      refusals: () => [...this.refused],
      ignored: () => [...this.ignored],
      extras: () => this.issued.list(),
      usage: () => this.sums.list(),
      listHolds: () => this.control.listHolds(),
      release: (name) => this.control.release(name),
      failNext: (problem, times = 1) => {
        for (let left = times; left > 0; left -= 1) this.problems.push(problem);
      },
      reset: () => this.reset(),
      close: async () => {
        this.control.reset();
        await stop(server);
      },
    };
  }

  private withDetails(record: RequestRecord): ReplayedRequest {
    return { ...record, ...(this.details.get(record.id) ?? { path: '', headers: {} }) };
  }

  private reset(): void {
    this.control.reset();
    this.sums.clear();
    this.details.clear();
    this.refused.length = 0;
    this.ignored.length = 0;
    this.problems.length = 0;
  }
}

async function stop(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())));
  server.closeAllConnections();
  await closed;
}

interface Serving {
  state: ReplayState;
  replay: ProviderReplay;
}

/** A fault of this server itself is a 500 that says so, not an answer in the vendor's shape that a test could mistake. */
async function serve(req: IncomingMessage, res: ServerResponse, serving: Serving): Promise<void> {
  try {
    await route(req, res, serving);
  } catch (cause) {
    if (res.headersSent) res.destroy();
    else sendJson(res, cause instanceof ModelApiError ? cause.status : 500, { replay_server_error: String(cause) });
  }
}

async function route(req: IncomingMessage, res: ServerResponse, { state, replay }: Serving): Promise<void> {
  const { pathname } = new URL(req.url ?? '/', 'http://replay.invalid');
  const { vendor } = state;
  if (req.method === 'POST' && vendor.path.test(pathname)) return await exchange(req, res, state.exchangeContext());
  if (await serveControl(req, res, replay)) return;
  sendHttpAnswer(res, refusalOf(vendor, { kind: 'unknown-path', method: req.method ?? '', path: pathname }).answer);
}
