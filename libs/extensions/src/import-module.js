'use strict';

/**
 * Loads an ES module by its URL. The compiler turns `import()` in TypeScript into `require()`, which cannot; this file is
 * copied as it is.
 *
 * @type {(url: string) => Promise<unknown>}
 */
exports.importModule = (url) => import(url);
