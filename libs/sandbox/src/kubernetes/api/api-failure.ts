import { UnavailableError } from '@caribou/contracts';
import { z } from 'zod';

/** The body of a refusal (meta/v1 Status). */
const Status = z.object({
  message: z.string().optional(),
  reason: z.string().optional(),
  details: z.object({ retryAfterSeconds: z.number().optional() }).optional(),
});

/** Longest text of the API server that an error shows. */
const MAX_TEXT = 600;

export interface ApiRequestName {
  /** As RBAC names it. */
  readonly verb: string;
  /** The resource, such as `pods`. */
  readonly resource: string;
  readonly namespace: string | undefined;
}

interface FailureFields {
  readonly httpStatus?: number;
  readonly reason?: string;
  readonly retryAfterMs?: number;
  /** Whether the same request may succeed later without a change by the operator. */
  readonly isTransient: boolean;
  /** Whether the server certainly did nothing. */
  readonly isRefused: boolean;
  readonly cause?: unknown;
}

/** The API server refused a request, or did not answer it. The text says what to change. */
export class ApiFailure extends UnavailableError {
  readonly httpStatus: number | undefined;
  readonly reason: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly isTransient: boolean;
  readonly isRefused: boolean;

  constructor(text: string, fields: FailureFields) {
    super(`kubernetes: ${text}`, {
      cause: fields.cause,
      retryable: fields.isTransient,
      details: { dependency: 'kubernetes', ...(fields.reason === undefined ? {} : { reason: fields.reason }) },
    });
    this.httpStatus = fields.httpStatus;
    this.reason = fields.reason;
    this.retryAfterMs = fields.retryAfterMs;
    this.isTransient = fields.isTransient;
    this.isRefused = fields.isRefused;
  }
}

/** Statuses after which the same request may succeed. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** The failure that an answer with an error's status means. */
export function failureOfAnswer(
  { status, body, retryAfter }: { readonly status: number; readonly body: string; readonly retryAfter?: string },
  request: ApiRequestName,
): ApiFailure {
  const parsed = parseStatus(body);
  const text = (parsed?.message ?? body).trim().slice(0, MAX_TEXT);
  const seconds = Number(retryAfter ?? parsed?.details?.retryAfterSeconds);
  return new ApiFailure(explain(status, text, request), {
    httpStatus: status,
    ...(parsed?.reason === undefined ? {} : { reason: parsed.reason }),
    ...(Number.isFinite(seconds) && seconds > 0 ? { retryAfterMs: seconds * 1_000 } : {}),
    isTransient: TRANSIENT.has(status),
    isRefused: status < 500 || status === 503,
  });
}

/** The failure of a request that got no answer. */
export const failureOfConnection = (text: string, cause: unknown): ApiFailure =>
  new ApiFailure(`the API server does not answer: ${text}`, { isTransient: true, isRefused: false, cause });

function parseStatus(body: string): z.output<typeof Status> | undefined {
  try {
    return Status.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined; // An answer of something in between, such as a proxy.
  }
}

type Explanation = readonly [pattern: RegExp, text: (request: ApiRequestName) => string];

/** Refusals that an operator can end, with what to do. The server's own text follows. */
const EXPLANATIONS: readonly Explanation[] = [
  [/exceeded quota/i, ({ namespace }) => `the quota of namespace ${namespace} is used up`],
  [/must specify .*(?:limits|requests)/i, ({ namespace }) => `the quota of namespace ${namespace} asks for a limit`],
  [
    /violates PodSecurity/i,
    ({ namespace }) => `the pod security standard of namespace ${namespace} refuses the pod: label it for "restricted"`,
  ],
  [
    /RuntimeClass .*not found|runtimeclass.*not found/i,
    () => 'the runtime class of sandbox.kubernetes.runtime_class does not exist',
  ],
  [
    /error looking up service account|serviceaccount .*not found/i,
    () => 'the service account of sandbox.kubernetes.service_account does not exist',
  ],
  [/namespaces? .*not found/i, () => 'the namespace of sandbox.kubernetes.namespace does not exist'],
  [/admission webhook|ValidatingAdmissionPolicy/i, () => 'a policy of the cluster refuses the pod'],
  [
    /cannot (?:create|get|list|watch|delete|patch) resource/i,
    ({ verb, resource, namespace }) =>
      `the service account of the sandbox-manager lacks a role with verb "${verb}" on "${resource}" in namespace ${namespace}`,
  ],
];

function explain(status: number, text: string, request: ApiRequestName): string {
  const known = EXPLANATIONS.find(([pattern]) => pattern.test(text));
  if (known !== undefined) return `${known[1](request)}: ${text}`;
  if (status === 401) return `the API server does not accept the credentials: ${text}`;
  if (status === 403) return `the API server forbids "${request.verb}" on "${request.resource}": ${text}`;
  return `the API server answered ${status} to "${request.verb}" on "${request.resource}": ${text}`;
}
