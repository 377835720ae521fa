import type { IncomingHttpHeaders } from 'node:http';
import { omitUndefined } from '@caribou/contracts';
import { redactText } from '@caribou/observability';
import { StoreFailure, type StoreFailureReason } from '../common/store-failure.js';
import { childText, parseXml, XmlError } from './xml.js';

/** What an answer other than 2xx says. */
export interface Refusal {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** S3's code of the error, such as `NoSuchKey`; undefined when the body is not an error of S3. */
  readonly code?: string;
  readonly message?: string;
  /** The region of the bucket, where the store says it. */
  readonly region?: string;
}

const MAX_TEXT_CHARS = 200;
const MAX_RETRY_AFTER_MS = 30_000;

/** Reads the body of a refusal. */
export function parseRefusal(status: number, headers: IncomingHttpHeaders, body: string): Refusal {
  const region = headers['x-amz-bucket-region'];
  const known = { status, headers, ...(typeof region === 'string' ? { region } : {}) };
  try {
    const error = parseXml(body, ['Error']);
    const found = { code: childText(error, 'Code'), message: childText(error, 'Message') };
    return { ...known, ...omitUndefined({ region: childText(error, 'Region'), ...found }) };
  } catch (error) {
    if (error instanceof XmlError) return known;
    throw error;
  }
}

/** Codes after which the same request may succeed. */
const repeatedCodes: Readonly<Record<string, StoreFailureReason>> = {
  SlowDown: 'overloaded',
  SlowDownRead: 'overloaded',
  SlowDownWrite: 'overloaded',
  ServiceUnavailable: 'overloaded',
  Throttling: 'overloaded',
  ThrottlingException: 'overloaded',
  TooManyRequests: 'overloaded',
  RequestLimitExceeded: 'overloaded',
  InternalError: 'failed',
  OperationAborted: 'failed',
  ConditionalRequestConflict: 'failed',
  RequestTimeout: 'timeout',
  IncompleteBody: 'cut',
  // The bytes were checked before they were sent, so they changed on the way.
  BadDigest: 'altered',
  XAmzContentSHA256Mismatch: 'altered',
};

const fullCodes = new Set([
  'InsufficientStorage',
  'QuotaExceeded',
  'XMinioStorageFull',
  'XMinioAdminBucketQuotaExceeded',
]);

type Fault = readonly [StoreFailureReason, string];

/** Codes that the operator must do something about. */
const lastingCodes: Readonly<Record<string, Fault>> = {
  InvalidAccessKeyId: ['credentials', 'it does not know the key: check access_key_id in files.store.s3'],
  // versitygw's code of the same.
  XAdminUserNotFound: ['credentials', 'it does not know the key: check access_key_id in files.store.s3'],
  SignatureDoesNotMatch: [
    'credentials',
    'the signature is not right: check secret_access_key and region in files.store.s3, and that no proxy changes the host name',
  ],
  ExpiredToken: ['credentials', 'the session token has expired: set new keys in files.store.s3'],
  InvalidToken: ['credentials', 'it does not accept the token: check session_token in files.store.s3'],
  AccessDenied: [
    'permission',
    'access was denied: the key needs s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload and s3:ListBucketMultipartUploads below its prefix',
  ],
  AllAccessDisabled: ['permission', 'the bucket was disabled by its provider'],
  AccountProblem: ['permission', 'the account of the bucket has a problem: ask its provider'],
  NoSuchBucket: [
    'bucket',
    'the bucket does not exist: make it, or check bucket, endpoint and addressing in files.store.s3',
  ],
  InvalidBucketName: [
    'bucket',
    'it does not accept the name of the bucket: check bucket and addressing in files.store.s3',
  ],
  EntityTooLarge: ['failed', 'the object is larger than it accepts: lower multipart_bytes in files.store.s3'],
};

const regionCodes = new Set([
  'PermanentRedirect',
  'TemporaryRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
]);

/** The failure that a refusal is, with what to do about it. `nowMs` is this machine's time. */
export function refusalFailure(refusal: Refusal, nowMs: number): StoreFailure {
  const { status, headers, code = '' } = refusal;
  const lasting = lastingFault(refusal, nowMs);
  if (lasting !== undefined) return new StoreFailure(lasting[0], lasting[1], { status });
  const repeated = repeatedCodes[code] ?? repeatedStatuses[status] ?? (isServerFault(status) ? 'failed' : undefined);
  return new StoreFailure(repeated ?? 'protocol', `it answered ${textOf(refusal)}`, {
    status,
    isRepeated: repeated !== undefined,
    ...omitUndefined({ retryAfterMs: retryAfter(headers) }),
  });
}

/** 501 is what a store says that does not know the request. */
const isServerFault = (status: number): boolean => status >= 500 && status !== 501;

function lastingFault(refusal: Refusal, nowMs: number): Fault | undefined {
  const { status, headers, code = '' } = refusal;
  if (code === 'RequestTimeTooSkewed') return ['clock', clockText(headers, nowMs)];
  if (fullCodes.has(code) || status === 507) return ['full', 'it is full, or its quota is used up: make space'];
  if (regionCodes.has(code) || status === 301) return ['region', regionText(refusal)];
  return lastingCodes[code] ?? (code === '' ? lastingStatuses[status] : undefined);
}

const repeatedStatuses: Readonly<Record<number, StoreFailureReason>> = {
  408: 'timeout',
  429: 'overloaded',
  503: 'overloaded',
  504: 'timeout',
};

/** Answers without a code, as those to HEAD and those of servers that are not S3. */
const lastingStatuses: Readonly<Record<number, Fault>> = {
  401: ['credentials', 'it does not accept the keys: check access_key_id and secret_access_key in files.store.s3'],
  403: ['permission', 'access was denied: check the keys in files.store.s3, and what they may do'],
  404: ['protocol', 'the endpoint does not speak S3: check endpoint in files.store.s3'],
  405: ['protocol', 'the endpoint does not speak S3: check endpoint in files.store.s3'],
};

function clockText({ date }: IncomingHttpHeaders, nowMs: number): string {
  const differenceMs = nowMs - Date.parse(date ?? '');
  const seconds = Math.round(Math.abs(differenceMs) / 1_000);
  const how = Number.isNaN(differenceMs) ? '' : `, by ${seconds} s ${differenceMs > 0 ? 'ahead' : 'behind'}`;
  return `the clock of this machine differs too much from the store's${how}: set it, for example by NTP`;
}

const regionText = ({ region }: Refusal): string =>
  region === undefined
    ? 'the bucket is in another region: check region and endpoint in files.store.s3'
    : `the bucket is in the region ${plain(region)}: set region in files.store.s3 to it, and endpoint to one of that region`;

function textOf({ status, code, message }: Refusal): string {
  const said = [code, message].filter((text) => text !== undefined && text !== '').map((text) => plain(text ?? ''));
  return said.length === 0 ? `HTTP ${status}` : `HTTP ${status}, ${said.join(': ')}`;
}

const plain = (text: string): string => redactText(text.replace(/\s+/g, ' ')).slice(0, MAX_TEXT_CHARS);

function retryAfter({ 'retry-after': value = '' }: IncomingHttpHeaders): number | undefined {
  return /^\d{1,6}$/.test(value) ? Math.min(Number(value) * 1_000, MAX_RETRY_AFTER_MS) : undefined;
}
