import { type AnyTool, defineTool } from '@caribou/core';
import type { WebSearchConfig } from '@caribou/config';
import { z } from 'zod';
import { runWebTool } from './run-web-tool.js';
import { DUCKDUCKGO_PAGES_URL, duckduckgoSearch } from './duckduckgo.js';
import { FIRECRAWL_URL, firecrawlSearch } from './firecrawl.js';
import type { SearchWeb, WebPorts } from './ports.js';
import { apiOf } from './provider-server.js';
import { searxngSearch } from './searxng.js';
import { TAVILY_URL, tavilySearch } from './tavily.js';

const Input = z.object({
  query: z.string().trim().min(1).max(2_000).describe('Words to search for, as you would type them. Be specific.'),
});

/** Creates the tool that searches pages by the configured provider. */
export function webSearchTool(config: WebSearchConfig, ports: Pick<WebPorts, 'reach'>): AnyTool {
  const search = searchBy(config, ports);
  const timeoutMs = config.timeoutSeconds * 1000;
  return defineTool({
    name: 'web_search',
    description:
      'Search the web. You get titles, URLs and short texts of pages; read a page with web_fetch before you rely on it.',
    input: Input,
    group: 'web',
    remote: true,
    run: ({ query }, context) =>
      runWebTool(context, {
        tool: 'web_search',
        timeoutMs,
        problem: config.problem,
        work: (signal) => search(query, { signal }),
      }),
  });
}

function searchBy(config: WebSearchConfig, ports: Pick<WebPorts, 'reach'>): SearchWeb {
  const { maxResults } = config;
  switch (config.provider) {
    case 'duckduckgo':
      return duckduckgoSearch(apiOf(config, DUCKDUCKGO_PAGES_URL, ports), config);
    case 'tavily':
      return tavilySearch(apiOf(config, TAVILY_URL, ports), maxResults);
    case 'searxng':
      return searxngSearch(apiOf(config, '', ports), config);
    case 'firecrawl':
      return firecrawlSearch(apiOf(config, FIRECRAWL_URL, ports), maxResults);
  }
}
