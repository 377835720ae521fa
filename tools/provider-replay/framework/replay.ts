import type { IncomingHttpHeaders } from 'node:http';
import type { RequestRecord } from '../../demo-model/control.js';
import type { IssuedExtra } from './issued-extras.js';
import type { Problem } from './problem.js';
import type { TokenSum } from './token-sums.js';
import type { VendorDefinition } from './vendor.js';

export interface ProviderReplayOptions {
  vendor: VendorDefinition;
  /** The port; 0, the default, is any free one. */
  port?: number;
  host?: string;
  /** The one key that is accepted, in the vendor's own header; absent: any or none. */
  apiKey?: string;
  /** The only models there are; absent: any. */
  models?: readonly string[];
  /** Refuses requests with more input tokens; absent: any number. */
  contextTokens?: number;
  /** Cuts the streams at awkward bytes that this seed decides; absent: each event is one write. */
  cutSeed?: number;
}

/** A request, with what the client sent besides the body. */
export interface ReplayedRequest extends RequestRecord {
  path: string;
  headers: IncomingHttpHeaders;
}

export interface RefusedRequest {
  /** The id of the request. */
  id: number;
  /** The rule that it broke, in our words; the kind of the problem when it is none of the vendor's rules. */
  rule: string;
  status: number;
  body: unknown;
}

/** Something in a request that the vendor accepted and did not read. */
export interface IgnoredField {
  /** The id of the request. */
  id: number;
  /** Such as `messages[1].reasoning_content`. */
  field: string;
}

/** A running server. A client of the vendor takes `baseUrl`. */
export interface ProviderReplay {
  vendor: string;
  url: string;
  baseUrl: string;
  port: number;
  /** The newest 1000 requests, oldest first; `contains` searches the raw body. */
  requests(contains?: string): ReplayedRequest[];
  /** The newest 1000 refusals of checks, oldest first; those that a script asked for are not among them. */
  refusals(): RefusedRequest[];
  /** What the vendor accepted and did not read, as far as its documentation says so; the newest 1000, oldest first. */
  ignored(): IgnoredField[];
  /** The opaque values that were issued. */
  extras(): IssuedExtra[];
  /** The server's own sum of the tokens that it reported, by model. */
  usage(): Record<string, TokenSum>;
  listHolds(): { name: string; request_id: number }[];
  /** Opens a hold of a script; returns how many were waiting. */
  release(name: string): number;
  /** Lets the next requests (one unless `times` says more) fail by this problem before they are checked. */
  failNext(problem: Problem, times?: number): void;
  /** Forgets records, refusals, sums, holds and problems to come; issued extras stay valid. */
  reset(): void;
  close(): Promise<void>;
}
