import { WireError } from '@caribou/contracts';
import { z } from 'zod';
import type { ConversionKind } from '../kinds.js';
import type { DocumentLimits } from '../limits.js';

/** What the process is told, as its one argument in JSON; the file comes on its standard input. */
export interface ConversionJob {
  readonly kind: ConversionKind;
  readonly limits: DocumentLimits;
  /** Of a page: what its links are relative to. */
  readonly url?: string;
}

/** The descriptor that the reply is written to: whatever a parser prints cannot get into it. */
export const REPLY_DESCRIPTOR = 3;

/** The one JSON document on the reply's descriptor. */
export const ConversionReply = z.union([z.object({ markdown: z.string() }), z.object({ error: WireError })]);
export type ConversionReply = z.infer<typeof ConversionReply>;

/** Room for escapes: JSON may write a control character as six bytes, and other text doubles at most. */
export const maxReplyBytes = ({ maxOutputBytes }: DocumentLimits) => 6 * maxOutputBytes + 10_000;
