import { textOf } from '@caribou/contracts';
import { z } from 'zod';
import { defineMiddleware } from './custom-middleware.js';
import { defineModel } from './custom-model.js';
import { defineCustomTool } from './custom-tool.js';
import type { Toolkit } from './public-types.js';

/** The toolkit that is passed to every custom module. */
export const toolkit: Toolkit = Object.freeze({
  defineMiddleware,
  defineTool: defineCustomTool,
  defineModel,
  z,
  textOf,
} satisfies Toolkit);
