import { WireError } from '@caribou/contracts';
import { z } from 'zod';
import type { ConversionKind } from '../kinds.js';
import type { DocumentLimits } from '../limits.js';

/** The job of the process, as its only argument in JSON; the file is passed on standard input. */
export interface ConversionJob {
  readonly kind: ConversionKind;
  readonly limits: DocumentLimits;
  /** Base URL of a page's links. */
  readonly url?: string;
}

/** The descriptor for the reply, separate from what a parser prints. */
export const REPLY_DESCRIPTOR = 3;

/** The only JSON document on the reply's descriptor. */
export const ConversionReply = z.union([z.object({ markdown: z.string() }), z.object({ error: WireError })]);
export type ConversionReply = z.infer<typeof ConversionReply>;

/** Allows for escapes: JSON writes a control character as up to six bytes, and other text at most doubles. */
export const maxReplyBytes = ({ maxOutputBytes }: DocumentLimits) => 6 * maxOutputBytes + 10_000;
