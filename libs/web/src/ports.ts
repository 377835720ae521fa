import type { SafeFetch } from '@caribou/core';

/** The way out, for some hosts that the operator named and for public ones. */
export interface WebReach {
  readonly fetch: SafeFetch;
  /** Resolves when a URL may be fetched, for those who have a provider fetch it. @throws AppError that says why not */
  readonly check: (url: string) => Promise<void>;
}

export interface WebPorts {
  /** The way out with these hosts opened, as rules such as `wiki.lan` or `10.0.0.7:8080`. */
  readonly reach: (rules: readonly string[]) => WebReach;
  /** Makes Markdown of what strangers wrote, away from this process. */
  readonly pages: {
    toMarkdown(
      file: Uint8Array,
      options: { kind: 'page' | 'pdf'; url: string; signal: AbortSignal; limits: PageLimits },
    ): Promise<string>;
  };
}

/** What the conversion of one page may cost. */
interface PageLimits {
  readonly maxInputBytes: number;
  readonly maxOutputBytes: number;
  readonly deadlineMs: number;
  readonly maxHeapMib: number;
}

/** One page as text, in the form that its provider gives: its title as a heading first. */
export type FetchPage = (url: string, call: WebCall) => Promise<string>;

/** Finds pages; the text is what the model reads. */
export type SearchWeb = (query: string, call: WebCall) => Promise<string>;

/** Finds pictures; the text is what the model reads. */
export type SearchImages = (wanted: WantedImages, call: WebCall) => Promise<string>;

export interface WantedImages {
  readonly query: string;
  readonly maxResults: number;
  readonly size?: string | undefined;
  readonly type?: string | undefined;
  readonly layout?: string | undefined;
}

export interface WebCall {
  readonly signal: AbortSignal;
}
