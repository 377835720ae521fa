import type { z } from 'zod';
import { answerProblem, type ProblemAnswers } from '../framework/problem.js';
import type { Refusal } from '../framework/refusal.js';
import type { HttpAnswer, Vendor, VendorRequest } from '../framework/vendor.js';
import { type ChunkStyle, chunkRenderer } from './chunk-renderer.js';
import { type ChatBody, toChat } from './conversation.js';
import { type CacheUnits, PrefixCache } from './prefix-cache.js';
import { readShape, type ShapeIssue } from './shape.js';

/** What makes a vendor of chat completions. */
export interface ChatVendorParts<Body extends ChatBody> {
  readonly basePath: string;
  /** The whole path; absent: the base path and `/chat/completions`. */
  readonly path?: RegExp;
  readonly schema: z.ZodType<Body>;
  shapeRefusal(issue: ShapeIssue, body: unknown): Refusal;
  /**
   * Rules beyond the shape.
   *
   * @throws Refusal
   */
  rules(body: Body, request: VendorRequest): void;
  /** What the vendor accepts and does not read. */
  ignored?(body: Body): string[];
  style(body: Body, responseId: string): ChunkStyle;
  readonly problems: ProblemAnswers<HttpAnswer | undefined>;
  /** How the vendor's automatic cache counts; absent: it has none, or does not report it. */
  readonly cache?: CacheUnits;
  /** Absent: `Authorization: Bearer`. */
  readonly authorized?: Vendor['authorized'];
  /** Absent: `call_` and 24 characters. */
  readonly callId?: Vendor['callId'];
}

export function chatVendor<Body extends ChatBody>(parts: ChatVendorParts<Body>): Vendor {
  const cache = parts.cache === undefined ? undefined : new PrefixCache(parts.cache);
  return {
    basePath: parts.basePath,
    path: parts.path ?? new RegExp(`^${parts.basePath}/chat/completions$`),
    authorized: parts.authorized ?? ((headers, apiKey) => headers.authorization === `Bearer ${apiKey}`),
    callId: parts.callId ?? ((unique, index) => `call_${unique}${String(index).padStart(4, '0')}`),
    refuse: (problem) => answerProblem(parts.problems, problem),
    check(request) {
      const body = readShape(parts.schema, request.body, (issue) => parts.shapeRefusal(issue, request.body));
      parts.rules(body, request);
      return {
        chat: toChat(body),
        stream: body.stream === true,
        ...(cache === undefined ? {} : { input: cache.count(body) }),
        ignored: parts.ignored?.(body) ?? [],
        createRenderer: (responseId) => chunkRenderer(parts.style(body, responseId)),
      };
    },
  };
}

/** Whether the request asks for the counts of tokens in a chunk of their own. */
export function wantsUsage(body: {
  stream_options?: { include_usage?: boolean | undefined } | null | undefined;
}): boolean {
  return body.stream_options?.include_usage === true;
}

/** The fields that each chunk of an answer has with most vendors. */
export function envelopeOf(body: ChatBody, id: string): { id: string; created: number; model: string } {
  return { id, created: Math.floor(Date.now() / 1000), model: body.model };
}
