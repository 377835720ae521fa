import { variable } from './references.js';

/** The variable of the environment as it is now; for references that are resolved when they are used and never kept. */
export const readEnvLazily = (name: string): string | undefined => variable(process.env, name);
