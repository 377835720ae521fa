/**
 * A copy of an object with other values of properties that it has. The copy has the hidden class of the original, whatever V8 runs
 * it; a literal with a spread may cost a class of its own.
 */
export const copyWith = <T extends object>(original: T, replaced: Partial<T>): T =>
  Object.assign({ ...original }, replaced);
