import { withAtMostOnce, type ToolJournal } from '@caribou/core';
import type { Extensions } from './load-extensions.js';

/** The same, with each call of a tool made at most once, unless the tool says that it only reads. */
export const withJournal = ({ middlewares, tools }: Extensions, journal: ToolJournal): Extensions => ({
  middlewares: middlewares.map((middleware) =>
    middleware.tools === undefined ? middleware : { ...middleware, tools: withAtMostOnce(middleware.tools, journal) },
  ),
  tools: withAtMostOnce(tools, journal),
});
