import { resolve } from 'node:path';

/** The folder of built-in skills, which is next to `libs` in the repository and in the build output. */
export const BUILT_IN_SKILLS = resolve(__dirname, '../../../skills');
