import type { SafeFetch } from '@caribou/core';

/** Web access to public hosts and to hosts that the operator allows. */
export interface WebReach {
  readonly fetch: SafeFetch;
  /** Resolves when a URL may be fetched, for use before a provider fetches it. @throws AppError with the reason */
  readonly check: (url: string) => Promise<void>;
}

export interface WebPorts {
  /** Web access with these hosts allowed, as rules such as `wiki.lan` or `10.0.0.7:8080`. */
  readonly reach: (rules: readonly string[]) => WebReach;
  /** Converts untrusted pages to Markdown in another process. */
  readonly pages: {
    toMarkdown(
      file: Uint8Array,
      options: { kind: 'page' | 'pdf'; url: string; signal: AbortSignal; limits: PageLimits },
    ): Promise<string>;
  };
}

/** Limits of the conversion of one page. */
interface PageLimits {
  readonly maxInputBytes: number;
  readonly maxOutputBytes: number;
  readonly deadlineMs: number;
  readonly maxHeapMib: number;
}

/** Fetches one page as text in its provider's format: the title as a heading first. */
export type FetchPage = (url: string, call: WebCall) => Promise<string>;

/** Searches pages; returns text for the model. */
export type SearchWeb = (query: string, call: WebCall) => Promise<string>;

/** Searches images; returns text for the model. */
export type SearchImages = (wanted: ImageQuery, call: WebCall) => Promise<string>;

export interface ImageQuery {
  readonly query: string;
  readonly maxResults: number;
  readonly size?: string | undefined;
  readonly type?: string | undefined;
  readonly layout?: string | undefined;
}

export interface WebCall {
  readonly signal: AbortSignal;
}
