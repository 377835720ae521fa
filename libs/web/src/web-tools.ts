import type { WebConfig } from '@caribou/config';
import type { ToolSource } from '@caribou/core';
import { imageSearchTool } from './image-search.js';
import type { WebPorts } from './ports.js';
import { webFetchTool } from './web-fetch.js';
import { webSearchTool } from './web-search.js';

/**
 * The web tools that the configuration offers. They are made once and reach out only when they are called, so an
 * installation without the internet pays nothing for them.
 *
 * @throws {InvalidRequestError} for a rule of a host that is none
 */
export function webTools({ search, fetch, images }: WebConfig, ports: WebPorts): ToolSource {
  const tools = [
    ...(search.enabled ? [webSearchTool(search, ports)] : []),
    ...(fetch.enabled ? [webFetchTool(fetch, ports)] : []),
    ...(images.enabled ? [imageSearchTool(images, ports)] : []),
  ];
  return { toolsFor: () => Promise.resolve(tools) };
}
