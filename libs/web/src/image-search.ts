import { type AnyTool, defineTool } from '@caribou/core';
import type { WebImagesConfig } from '@caribou/config';
import { z } from 'zod';
import { runWebTool } from './run-web-tool.js';
import { DUCKDUCKGO_URL, duckduckgoImages } from './duckduckgo.js';
import type { SearchImages, WebPorts } from './ports.js';
import { apiOf } from './provider-server.js';
import { searxngImages } from './searxng.js';

const inputFor = (maxResults: number) =>
  z.object({
    query: z.string().trim().min(1).max(2_000).describe('What the pictures show. Be specific.'),
    max_results: z.number().int().min(1).default(maxResults).describe(`At most ${maxResults}.`),
    size: z.enum(['Small', 'Medium', 'Large', 'Wallpaper']).optional().describe('Only pictures of this size.'),
    type_image: z
      .enum(['photo', 'clipart', 'gif', 'transparent', 'line'])
      .optional()
      .describe('Only pictures of this kind.'),
    layout: z.enum(['Square', 'Tall', 'Wide']).optional().describe('Only pictures of this shape.'),
  });

/** Searches images by the configured provider. */
export function imageSearchTool(config: WebImagesConfig, ports: Pick<WebPorts, 'reach'>): AnyTool {
  const search = searchBy(config, ports);
  const timeoutMs = config.timeoutSeconds * 1000;
  return defineTool({
    name: 'image_search',
    description:
      'Search the web for pictures. You get titles and URLs of pictures and of the pages they stand on, not the pictures. ' +
      'Use it before you make or describe something whose look matters, to have real examples.',
    input: inputFor(config.maxResults),
    group: 'web',
    remote: true,
    run: ({ query, max_results, size, type_image: type, layout }, context) =>
      runWebTool(context, {
        tool: 'image_search',
        timeoutMs,
        problem: config.problem,
        work: (signal) => {
          const maxResults = Math.min(max_results, config.maxResults);
          return search({ query, maxResults, size, type, layout }, { signal });
        },
      }),
  });
}

function searchBy(config: WebImagesConfig, ports: Pick<WebPorts, 'reach'>): SearchImages {
  switch (config.provider) {
    case 'duckduckgo':
      return duckduckgoImages(apiOf(config, DUCKDUCKGO_URL, ports), config);
    case 'searxng':
      return searxngImages(apiOf(config, '', ports), config.safeSearch);
  }
}
