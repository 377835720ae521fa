import { variable } from './references.js';

/** Reads an environment variable at the moment of its use, for references that are never stored resolved. */
export const readEnvLazily = (name: string): string | undefined => variable(process.env, name);
