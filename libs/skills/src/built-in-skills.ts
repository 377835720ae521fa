import { resolve } from 'node:path';

/** The folder of skills that come with the product: it lies beside `libs`, in the repository and where it is built to. */
export const SHIPPED_SKILLS = resolve(__dirname, '../../../skills');
