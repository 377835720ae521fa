/** What becomes of large results; in characters, which are UTF-16 code units. */
export interface ToolOutputLimits {
  /** From here on a result goes into a file. */
  readonly externalizeMinChars: number;
  /** Shown of the beginning and the end of a result that is in a file. */
  readonly previewHeadChars: number;
  readonly previewTailChars: number;
  /** From here on a result that is in no file is cut. */
  readonly fallbackMaxChars: number;
  /** Kept of its beginning and its end then. */
  readonly fallbackHeadChars: number;
  readonly fallbackTailChars: number;
  /** Tools whose results are shown whole. */
  readonly exemptTools: readonly string[];
}

/** DeerFlow's sizes. */
export const DEFAULT_TOOL_OUTPUT_LIMITS: ToolOutputLimits = {
  externalizeMinChars: 12_000,
  previewHeadChars: 2_000,
  previewTailChars: 1_000,
  fallbackMaxChars: 30_000,
  fallbackHeadChars: 8_000,
  fallbackTailChars: 3_000,
  exemptTools: ['read_file'],
};
