/** Limits of one conversion. */
export interface DocumentLimits {
  readonly maxInputBytes: number;
  /** Bytes of Markdown; longer text is cut with a note. */
  readonly maxOutputBytes: number;
  /** Time from start to reply, after which the process is killed. */
  readonly deadlineMs: number;
  /** JavaScript heap of the process. */
  readonly maxHeapMib: number;
  /** Entries of a zip container. */
  readonly maxEntries: number;
  /** Inflated bytes of one entry. */
  readonly maxEntryBytes: number;
  /** Inflated bytes of all entries. */
  readonly maxInflatedBytes: number;
  /** Nesting depth of elements in XML. */
  readonly maxDepth: number;
  /** Elements of one XML part. */
  readonly maxElements: number;
  /** Pages, slides or sheets; further ones are omitted. */
  readonly maxPages: number;
  /** Rows of one table; further ones are omitted. */
  readonly maxRows: number;
  /** Columns of one table; further ones are omitted. */
  readonly maxColumns: number;
}

export const DEFAULT_DOCUMENT_LIMITS: DocumentLimits = {
  maxInputBytes: 50 * 1024 * 1024,
  maxOutputBytes: 4 * 1024 * 1024,
  deadlineMs: 60_000,
  maxHeapMib: 512,
  maxEntries: 5_000,
  maxEntryBytes: 64 * 1024 * 1024,
  maxInflatedBytes: 192 * 1024 * 1024,
  maxDepth: 200,
  maxElements: 3_000_000,
  maxPages: 1_000,
  maxRows: 5_000,
  maxColumns: 100,
};
