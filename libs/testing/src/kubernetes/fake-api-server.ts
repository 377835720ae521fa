import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiFaults } from './api-faults.js';
import { FakeCluster, type Json, type StoredPod } from './fake-cluster.js';
import { matchesFields, matchesLabels } from './label-selector.js';
import { restrictedViolations, sandboxViolations } from './pod-admission.js';
import { serveWatch } from './serve-watch.js';

/** The refusal of a request, as the API server says it. */
export class Refusal extends Error {
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

export interface FakeApiOptions {
  readonly namespace: string;
  /** Throws an error for a pod that the API's schema does not allow; it gets each pod that is created. */
  readonly checkSchema?: (pod: unknown) => void;
}

const MAX_BODY_BYTES = 1_048_576;

/** An API server for pods of one namespace: create, get, list, watch, patch and delete by the rules of the real one. */
export class FakeApiServer {
  readonly cluster: FakeCluster;
  readonly faults = new ApiFaults();
  readonly token = `token-${process.pid}`;
  /** Verbs on pods that the service account does not have. */
  readonly denied = new Set<string>();
  /** Refuses a pod that passes all other checks, when it gives a message. */
  admit: (pod: Json) => string | undefined = () => undefined;
  /** Events about pods, by uid. */
  readonly events = new Map<string, readonly { readonly reason: string; readonly message: string }[]>();
  /** Every pod that was created, as it was sent. */
  readonly created: Json[] = [];
  private readonly watches = new Set<ServerResponse>();
  private server: Server | undefined;

  constructor(private readonly options: FakeApiOptions) {
    this.cluster = new FakeCluster(options.namespace);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server?.address() as AddressInfo).port}`;
  }

  async start(port = 0): Promise<this> {
    this.server = createServer((request, response) => void this.answer(request, response));
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  /** Ends the server with all connections; its pods stay. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (server === undefined) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  /** Cuts all watches, which their clients notice. */
  cutWatches(): void {
    for (const watch of this.watches) watch.destroy();
  }

  get watchCount(): number {
    return this.watches.size;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://server');
    const isWatch = url.searchParams.get('watch') === 'true';
    const fault = this.faults.of({ method: request.method ?? '', path: url.pathname, isWatch });
    try {
      if (fault?.hangs === true) return;
      const body = await readBody(request);
      if (fault !== undefined && fault.isDone !== true) throw refusalOf(fault);
      if (isWatch) return this.watch(url, response);
      const reply = this.carryOut(request, url, body);
      if (fault !== undefined) throw refusalOf(fault);
      send(response, reply.code, reply.body);
    } catch (error) {
      if (error instanceof Refusal && error.code > 0) send(response, error.code, statusOf(error), error.retryAfter);
      else response.destroy();
    }
  }

  private carryOut(request: IncomingMessage, url: URL, body: Json): { readonly code: number; readonly body: object } {
    if (request.headers.authorization !== `Bearer ${this.token}`)
      throw new Refusal(401, 'Unauthorized', 'Unauthorized');
    const { method = '' } = request;
    const pods = `/api/v1/namespaces/${this.options.namespace}/pods`;
    if (url.pathname.endsWith('/selfsubjectaccessreviews')) return { code: 201, body: this.review(body) };
    if (url.pathname.endsWith('/events')) return { code: 200, body: { items: this.eventsOf(url) } };
    if (url.pathname === pods && method === 'POST') return { code: 201, body: this.create(body) };
    if (url.pathname === pods && method === 'GET') return { code: 200, body: this.list(url) };
    if (!url.pathname.startsWith(`${pods}/`)) throw noNamespace(url);
    return { code: 200, body: this.onPod(method, url.pathname.slice(pods.length + 1), body) };
  }

  private onPod(method: string, name: string, body: Json): object {
    if (method === 'GET') return this.read(name, 'get');
    if (method === 'DELETE') return this.remove(name, body);
    if (method === 'PATCH') return this.patch(name, body);
    throw new Refusal(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
  }

  private eventsOf(url: URL): readonly object[] {
    this.require('events');
    const [, uid = ''] = /involvedObject\.uid=([^,]+)/.exec(url.searchParams.get('fieldSelector') ?? '') ?? [];
    return this.events.get(uid) ?? [];
  }

  private require(verb: string): void {
    if (!this.denied.has(verb)) return;
    const { namespace } = this.options;
    throw new Refusal(
      403,
      'Forbidden',
      `pods is forbidden: User "system:serviceaccount:caribou:manager" cannot ${verb} resource "pods" in API group "" in the namespace "${namespace}"`,
    );
  }

  private review(body: Json): object {
    const spec = body['spec'] as { resourceAttributes: { verb: string } };
    return {
      kind: 'SelfSubjectAccessReview',
      spec,
      status: { allowed: !this.denied.has(spec.resourceAttributes.verb) },
    };
  }

  private create(body: Json): StoredPod {
    this.require('create');
    const pod = body as Json & { metadata: Json & { name: string } };
    const { name } = pod.metadata;
    if (this.cluster.get(name) !== undefined) throw new Refusal(409, 'AlreadyExists', `pods "${name}" already exists`);
    const restricted = restrictedViolations(pod);
    if (restricted.length > 0)
      throw new Refusal(
        403,
        'Forbidden',
        `pods "${name}" is forbidden: violates PodSecurity "restricted:latest": ${restricted.join(', ')}`,
      );
    this.check(pod);
    const refused = this.admit(pod);
    if (refused !== undefined) throw new Refusal(403, 'Forbidden', `pods "${name}" is forbidden: ${refused}`);
    this.created.push(structuredClone(pod));
    return this.cluster.add(pod);
  }

  /** What no real API server refuses, but this project does. */
  private check(pod: Json): void {
    const violations = [...sandboxViolations(pod)];
    try {
      this.options.checkSchema?.(pod);
    } catch (error) {
      violations.push(error instanceof Error ? error.message : String(error));
    }
    if (violations.length > 0) throw new Refusal(422, 'Invalid', `Pod is invalid: ${violations.join('; ')}`);
  }

  private read(name: string, verb: string): StoredPod {
    this.require(verb);
    const pod = this.cluster.get(name);
    if (pod === undefined) throw new Refusal(404, 'NotFound', `pods "${name}" not found`);
    return pod;
  }

  private list(url: URL): object {
    this.require('list');
    const found = this.cluster.list().filter((pod) => isSelected(url, pod));
    const from = Number(url.searchParams.get('continue') ?? '0');
    const limit = Number(url.searchParams.get('limit') ?? '0') || found.length;
    const more = from + limit < found.length ? { continue: String(from + limit) } : {};
    const metadata = { resourceVersion: String(this.cluster.version), ...more };
    return { kind: 'PodList', apiVersion: 'v1', metadata, items: found.slice(from, from + limit) };
  }

  private remove(name: string, body: Json): StoredPod {
    const pod = this.read(name, 'delete');
    const { preconditions, gracePeriodSeconds } = body as {
      preconditions?: { uid?: string };
      gracePeriodSeconds?: number;
    };
    const { uid } = pod.metadata;
    if (preconditions?.uid !== undefined && preconditions.uid !== uid)
      throw new Refusal(409, 'Conflict', `the UID in the precondition (${preconditions.uid}) does not match (${uid})`);
    if (gracePeriodSeconds === 0) {
      this.cluster.remove(name, uid);
      return pod;
    }
    const seconds = gracePeriodSeconds ?? (pod.spec['terminationGracePeriodSeconds'] as number | undefined) ?? 30;
    const changed = this.cluster.change(name, uid, ({ metadata }) => {
      metadata.deletionTimestamp ??= new Date(Date.now() + seconds * 1_000).toISOString();
      metadata.deletionGracePeriodSeconds ??= seconds;
    });
    return changed ?? pod;
  }

  private patch(name: string, body: Json): StoredPod {
    const pod = this.read(name, 'patch');
    const { metadata = {} } = body as { metadata?: Json };
    for (const field of ['uid', 'resourceVersion'] as const)
      if (metadata[field] !== undefined && metadata[field] !== pod.metadata[field])
        throw new Refusal(
          409,
          'Conflict',
          'the object has been modified; please apply your changes to the latest version',
        );
    const changed = this.cluster.change(name, pod.metadata.uid, (stored) => {
      for (const field of ['labels', 'annotations'] as const) {
        const patched = (metadata[field] ?? {}) as Record<string, string | null>;
        stored.metadata[field] = merged(stored.metadata[field], patched);
      }
    });
    return changed ?? pod;
  }

  private watch(url: URL, response: ServerResponse): void {
    this.require('watch');
    this.watches.add(response);
    response.on('close', () => this.watches.delete(response));
    serveWatch(this.cluster, response, {
      version: Number(url.searchParams.get('resourceVersion') ?? '0'),
      timeoutMs: Number(url.searchParams.get('timeoutSeconds') ?? '300') * 1_000,
      isSelected: (pod) => isSelected(url, pod),
    });
  }
}

function noNamespace(url: URL): Refusal {
  const [, namespace = ''] = /^\/api\/v1\/namespaces\/([^/]+)\/pods/.exec(url.pathname) ?? [];
  return new Refusal(404, 'NotFound', `namespaces "${namespace}" not found`);
}

/** The entries with those of a merge patch, in which null removes one. */
const merged = (
  before: Readonly<Record<string, string>>,
  patch: Readonly<Record<string, string | null>>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ ...before, ...patch }).filter((entry): entry is [string, string] => entry[1] !== null),
  );

const isSelected = (url: URL, pod: StoredPod): boolean =>
  matchesLabels(url.searchParams.get('labelSelector') ?? '', pod.metadata.labels) &&
  matchesFields(url.searchParams.get('fieldSelector') ?? '', pod);

async function readBody(request: IncomingMessage): Promise<Json> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_BODY_BYTES) throw new Refusal(413, 'RequestEntityTooLarge', 'the body is too large');
    pieces.push(piece);
  }
  return bytes === 0 ? {} : (JSON.parse(Buffer.concat(pieces).toString('utf8')) as Json);
}

const refusalOf = (fault: { status?: number; reason?: string; message?: string; retryAfter?: number }): Refusal =>
  new Refusal(
    fault.status ?? 0,
    fault.reason ?? 'InternalError',
    fault.message ?? 'a fault on demand',
    fault.retryAfter,
  );

const statusOf = ({ code, reason, message }: Refusal): object => ({
  ...{ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message },
});

function send(response: ServerResponse, code: number, body: object, retryAfter?: number): void {
  const text = JSON.stringify(body);
  response.writeHead(code, {
    'content-type': 'application/json',
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  });
  response.end(text);
}
