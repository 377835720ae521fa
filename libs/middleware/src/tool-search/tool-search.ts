import { type AnyTool, defineTool } from '@caribou/core';
import { z } from 'zod';
import type { DeferredCatalog } from './deferred-catalog.js';
import { findTools } from './find-tools.js';

const MAX_QUERY_CHARS = 1_000;

const Input = z.object({
  query: z
    .string()
    .min(1)
    .max(MAX_QUERY_CHARS)
    .describe(
      '"select:name1,name2" for tools by their exact names, "+word rest" for tools with a word in their name, ' +
        'ranked by the rest, or a regular expression over names and descriptions.',
    ),
});

/** Creates the tool that looks up deferred tools: it returns their schemas and makes them available in this thread. */
export function toolSearchTool({ tools, hash }: DeferredCatalog): AnyTool {
  return defineTool({
    name: 'tool_search',
    description:
      'Look up the tools named in <available-deferred-tools>: you know only their names and cannot call them before. ' +
      'Returns the schemas of at most 5 tools (of all you name with select:), which you can call from then on.',
    input: Input,
    run({ query }) {
      const found = findTools(query, tools);
      if (found.length === 0) return Promise.resolve({ content: `No tools found matching: ${query}` });
      const schemas = found.map(({ name, description, parameters }) => ({ name, description, parameters }));
      const names = found.map(({ name }) => name);
      return Promise.resolve({
        content: JSON.stringify(schemas),
        update: { promoted: { catalog_hash: hash, names } },
      });
    },
  });
}
