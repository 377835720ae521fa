import { withAtMostOnce, type ToolJournal } from '@caribou/core';
import type { Extensions } from './load-extensions.js';

/** Wraps the tools so that each call is executed at most once, except those of read-only tools. */
export const withJournal = ({ middlewares, tools }: Extensions, journal: ToolJournal): Extensions => ({
  middlewares: middlewares.map((middleware) =>
    middleware.tools === undefined ? middleware : { ...middleware, tools: withAtMostOnce(middleware.tools, journal) },
  ),
  tools: withAtMostOnce(tools, journal),
});
