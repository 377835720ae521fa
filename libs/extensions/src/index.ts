export { loadMiddlewares } from './load-middlewares.js';
export type { Toolkit } from './public-types.js';
