/** The name by which the model calls the tool of sized-result.ts and of the peer. */
export const SIZED_RESULT = 'sized_result';

export interface WantedResult {
  readonly chars: number;
}

/** A text of so many characters, of words that are not counted as tokens of an answer. */
export const resultOf = ({ chars }: WantedResult): string => 'result '.repeat(Math.ceil(chars / 7)).slice(0, chars);
