import type { ApiConnection, ApiRequest } from './api-connection.js';
import { ApiFailure, failureOfConnection } from './api-failure.js';
import { AccessReview, EventList, Pod, PodList, type PodManifest } from './pod.js';
import { type RetryPolicy, withRetries } from './with-retries.js';

/** Pods of one page of a list. */
const PAGE_PODS = 500;
/** Events of one pod that are read. */
const MAX_EVENTS = 20;
/** More pods than any installation has: a server that gives pages without end is not followed. */
const MAX_PAGES = 200;

export interface PodRemoval {
  /** Only the pod that has this uid is deleted, not another one of its name. */
  readonly uid: string;
  /** 0 removes the pod from the API at once, whatever its node does. Absent: the pod's own. */
  readonly graceSeconds?: number;
}

/** Labels and annotations of a patch; null removes one. */
export interface MetadataPatch {
  readonly labels: Readonly<Record<string, string | null>>;
  readonly annotations: Readonly<Record<string, string | null>>;
}

/** A right that the driver needs. */
export interface PodRight {
  readonly verb: 'create' | 'get' | 'list' | 'watch' | 'patch' | 'delete';
}

/** The pods of one namespace. Each method repeats what may pass, and throws an ApiFailure that says what to change. */
export interface PodsApi {
  /** Identifies the server and the namespace. */
  readonly domain: string;
  /** Creates a pod; one of the same name that an earlier attempt has made is the result. */
  create(manifest: PodManifest): Promise<Pod>;
  get(name: string): Promise<Pod | null>;
  list(selector: string): Promise<{ readonly pods: readonly Pod[]; readonly resourceVersion: string }>;
  /** False when the pod is gone, or has another uid. */
  remove(name: string, removal: PodRemoval): Promise<boolean>;
  /** Null when the pod is gone, or another writer has changed it since `resourceVersion`. */
  patch(pod: Pod, patch: MetadataPatch): Promise<Pod | null>;
  mayI(right: PodRight): Promise<boolean>;
  /** Warnings of scheduler and node about a pod, the newest last; none where the service account may not read events. */
  warnings(uid: string): Promise<readonly string[]>;
}

/** The pods of a namespace at an API server. */
export function podsApi(connection: ApiConnection, namespace: string, policy: RetryPolicy): PodsApi {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const request = (verb: string, rest: Omit<ApiRequest, 'verb' | 'resource' | 'namespace'>): ApiRequest => ({
    verb,
    resource: 'pods',
    namespace,
    ...rest,
  });
  const send = (sent: ApiRequest): Promise<unknown> =>
    withRetries(policy, (_, timeoutMs) => connection.send(sent, timeoutMs));
  const get = async (name: string): Promise<Pod | null> => {
    const found = await unlessStatus(send(request('get', { method: 'GET', path: `${path}/${name}` })), [404]);
    return found === null ? null : readPod(found);
  };
  return {
    domain: `${connection.server}/${namespace}`,
    get,
    create: (manifest) => createPod({ connection, policy, get }, request('create', { method: 'POST', path }), manifest),
    list: (selector) => listPods(send, request('list', { method: 'GET', path }), selector),
    remove: async (name, { uid, graceSeconds }) => {
      const body = {
        ...{ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid }, propagationPolicy: 'Background' },
        ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
      };
      const sent = request('delete', { method: 'DELETE', path: `${path}/${name}`, body });
      return (await unlessStatus(send(sent), [404, 409])) !== null;
    },
    patch: async ({ metadata }, patch) => {
      const { name, uid, resourceVersion } = metadata;
      const body = { metadata: { uid, resourceVersion, ...patch } };
      const contentType = 'application/merge-patch+json';
      const sent = request('patch', { method: 'PATCH', path: `${path}/${name}`, body, contentType });
      const changed = await unlessStatus(send(sent), [404, 409]);
      return changed === null ? null : readPod(changed);
    },
    mayI: ({ verb }) => askAccess(send, verb, namespace),
    warnings: (uid) => listWarnings(send, namespace, uid),
  };
}

interface Creator {
  readonly connection: ApiConnection;
  readonly policy: RetryPolicy;
  readonly get: PodsApi['get'];
}

/** A create whose answer was lost is not repeated blindly: the pod of that name is the one of the first attempt. */
async function createPod({ connection, policy, get }: Creator, request: ApiRequest, manifest: PodManifest) {
  const { name } = manifest.metadata;
  const answer = await withRetries(policy, async (number, timeoutMs) => {
    try {
      return await connection.send({ ...request, body: manifest }, timeoutMs);
    } catch (error) {
      const isThere = error instanceof ApiFailure && error.httpStatus === 409 && error.reason === 'AlreadyExists';
      if (!isThere || number === 1) throw error;
      return null;
    }
  });
  if (answer !== null) return readPod(answer);
  const made = await get(name);
  if (made === null) throw failureOfConnection(`the pod ${name} was made and is gone`, undefined);
  return made;
}

async function listPods(send: (request: ApiRequest) => Promise<unknown>, request: ApiRequest, selector: string) {
  const pods: Pod[] = [];
  let position: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const query = {
      ...{ labelSelector: selector, limit: String(PAGE_PODS) },
      ...(position === undefined ? {} : { continue: position }),
    };
    const sent = await unlessStatus(send({ ...request, query }), position === undefined ? [] : [410]);
    if (sent === null) {
      // The server has forgotten the version of the first pages: the list begins again.
      position = undefined;
      pods.length = 0;
      continue;
    }
    const answer = PodList.safeParse(sent);
    if (!answer.success) throw failureOfConnection('its list of pods cannot be read', answer.error);
    pods.push(...answer.data.items);
    position = answer.data.metadata.continue;
    if (position === undefined || position === '')
      return { pods, resourceVersion: answer.data.metadata.resourceVersion };
  }
  throw failureOfConnection(`its list of pods has more than ${MAX_PAGES} pages`, undefined);
}

async function askAccess(send: (request: ApiRequest) => Promise<unknown>, verb: string, namespace: string) {
  const answer = await send({
    ...{ verb: 'create', resource: 'selfsubjectaccessreviews', namespace: undefined, method: 'POST' },
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { namespace, verb, resource: 'pods' } },
    },
  });
  const parsed = AccessReview.safeParse(answer);
  if (!parsed.success) throw failureOfConnection('its answer about rights cannot be read', parsed.error);
  return parsed.data.status.allowed;
}

async function listWarnings(send: (request: ApiRequest) => Promise<unknown>, namespace: string, uid: string) {
  const request: ApiRequest = {
    ...{ verb: 'list', resource: 'events', namespace, method: 'GET' },
    path: `/api/v1/namespaces/${namespace}/events`,
    query: { fieldSelector: `involvedObject.uid=${uid},type=Warning`, limit: String(MAX_EVENTS) },
  };
  const answer = await unlessStatus(send(request), [403]);
  const parsed = EventList.safeParse(answer ?? { items: [] });
  if (!parsed.success) throw failureOfConnection('its events cannot be read', parsed.error);
  return parsed.data.items.map(({ reason = '', message = '' }) => `${reason}: ${message}`);
}

function readPod(value: unknown): Pod {
  const parsed = Pod.safeParse(value);
  if (parsed.success) return parsed.data;
  throw failureOfConnection('its pod cannot be read', parsed.error);
}

/** The result, or null when the server refuses the request with one of the statuses. */
async function unlessStatus<T>(call: Promise<T>, statuses: readonly number[]): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ApiFailure && error.httpStatus !== undefined && statuses.includes(error.httpStatus))
      return null;
    throw error;
  }
}
