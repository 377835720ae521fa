/** Limits for large results in characters, which are UTF-16 code units. */
export interface ToolOutputLimits {
  /** Minimum size of a result that is written to a file. */
  readonly externalizeMinChars: number;
  /** Characters shown of the beginning and the end of a result that is in a file. */
  readonly previewHeadChars: number;
  readonly previewTailChars: number;
  /** Minimum size at which a result that is not in a file is cut. */
  readonly fallbackMaxChars: number;
  /** Characters shown of its beginning and end then. */
  readonly fallbackHeadChars: number;
  readonly fallbackTailChars: number;
  /** Tools whose results are not cut. */
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
