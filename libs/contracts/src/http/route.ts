import { z } from 'zod';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The successful reply of a route: JSON of a schema, an event stream, text, a user's file, or nothing. */
export type RouteReply = z.ZodType | 'event-stream' | 'text' | 'html' | 'file' | 'empty';

/** `public`: anybody. `user`: everybody with a key or a session. `administrator`: users who are administrators. */
export type RouteRole = 'public' | 'user' | 'administrator';

/**
 * The contract of one HTTP route, the only definition of its path, input and replies. The gateway parses requests with
 * it, and `/openapi.json` is generated from it. Paths are relative to the API root (`/api` and `/api/langgraph`), or to
 * the server's root if `root` is set.
 */
export interface RouteContract<
  Params extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Body extends z.ZodType = z.ZodType,
  Reply extends RouteReply = RouteReply,
  Method extends HttpMethod = HttpMethod,
  Path extends string = string,
> {
  /** Unique; the OpenAPI operationId. */
  readonly name: string;
  readonly group: string;
  readonly method: Method;
  /** The path, with `:name` for parameters; `*` at the end matches the rest of the path. */
  readonly path: Path;
  readonly root: boolean;
  /** Who may call it; the gateway checks it before a body is read, and the OpenAPI document says it. */
  readonly role: RouteRole;
  readonly summary: string;
  readonly params: Params;
  readonly query: Query;
  /** Content type of the body. A multipart body is read as a stream by the handler, not by the schema. */
  readonly consumes: 'application/json' | 'multipart/form-data' | 'application/x-www-form-urlencoded';
  readonly body: Body;
  readonly status: number;
  readonly reply: Reply;
  /** Error statuses besides 401, 403, 422 and 503, which every route may return. */
  readonly refusals: readonly number[];
}

export interface RouteInput<Contract extends RouteContract> {
  readonly params: z.output<Contract['params']>;
  readonly query: z.output<Contract['query']>;
  readonly body: z.output<Contract['body']>;
}

const Nothing = z.object({});
type Nothing = typeof Nothing;

/** The JSON of a successful answer as it is sent; unknown for replies that are not JSON. */
export type RouteReplyJson<Contract extends RouteContract> = Contract['reply'] extends z.ZodType
  ? z.output<Contract['reply']>
  : unknown;

type Given<Params, Query, Body, Reply, Method, Path> = Pick<RouteContract, 'name' | 'group' | 'summary'> &
  Partial<Pick<RouteContract, 'root' | 'role' | 'status' | 'refusals' | 'consumes'>> & {
    readonly method: Method;
    readonly path: Path;
    readonly reply: Reply;
    readonly params?: Params;
    readonly query?: Query;
    readonly body?: Body;
  };

/** Creates a route's contract with defaults: for users, no parameters, no query, no body, status 200. */
export function route<
  Reply extends RouteReply,
  Method extends HttpMethod,
  Path extends string,
  Params extends z.ZodType = Nothing,
  Query extends z.ZodType = Nothing,
  Body extends z.ZodType = z.ZodUnknown,
>(given: Given<Params, Query, Body, Reply, Method, Path>): RouteContract<Params, Query, Body, Reply, Method, Path> {
  const filled = {
    root: false,
    role: 'user',
    status: 200,
    refusals: [],
    consumes: 'application/json',
    params: Nothing,
    query: Nothing,
    body: z.unknown(),
    ...given,
  };
  return filled as unknown as RouteContract<Params, Query, Body, Reply, Method, Path>;
}

/** A boolean in a query: true for `1` and `true`. */
export const QueryFlag = z.enum(['0', '1', 'true', 'false']).transform((value) => value === '1' || value === 'true');

/** A whole number in a query. */
export const queryInt = (fallback: number, min: number, max: number) =>
  z.coerce.number().int().min(min).max(max).default(fallback);

/** A list in a query: one JSON array, the key repeated, or one plain word. */
export const queryList = <Item extends z.ZodType>(item: Item) =>
  z.preprocess((value) => {
    if (typeof value !== 'string') return value;
    return value.startsWith('[') ? parseList(value) : [value];
  }, z.array(item));

function parseList(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return [text];
    throw error;
  }
}

/** Limits of each field of free JSON, also after a merge; a request is checked against them before it is parsed. */
export const FREE_JSON_LIMITS = { maxBytes: 65_536, maxKeys: 500 } as const;

/** Counts the members of all objects in a value. */
export function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, member) => sum + countKeys(member), own);
}

/** Free JSON of a client, stored and returned unchanged. */
export const FreeJson = z.record(z.string(), z.unknown());

const isNothing = (value: unknown): boolean => {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === false || value === 0 || value === '';
};

/**
 * A field that this server does not support: empty values (null, false, 0, empty) are accepted, as SDKs send them;
 * others are refused, so that no client believes that an ignored request was honoured.
 */
export const Unsupported = z.unknown().refine(isNothing, 'is not supported here');

/** A known field that would have no effect here; refused as by `Unsupported`, with the reason or an alternative. */
export const unsupported = (reason: string) =>
  z.unknown().refine(isNothing, `is not supported here: ${reason}`).describe(`Refused: ${reason}`).optional();

/** The schema of a body that may be left out. */
export const orEmpty = <Schema extends z.ZodType>(schema: Schema) => z.preprocess((value) => value ?? {}, schema);

/** Metadata keys that identify an author; clients cannot set them. */
const reservedMetadata = new Set(['user_id', 'owner_id', 'created_by']);
const isReserved = (key: string): boolean =>
  reservedMetadata.has(key) || key.startsWith('__') || key.startsWith('langgraph_auth');

/** Metadata of a client, without reserved keys. */
export const ClientMetadata = FreeJson.transform((metadata) =>
  Object.fromEntries(Object.entries(metadata).filter(([key]) => !isReserved(key))),
);

/** A context without secrets: it is stored with the run and shown with it. */
export const OpenContext = FreeJson.superRefine(({ secrets }, context) => {
  if (isNothing(secrets)) return;
  const message = 'is not supported: a context is stored with the run and shown to its readers';
  context.addIssue({ code: 'custom', path: ['secrets'], message });
});
