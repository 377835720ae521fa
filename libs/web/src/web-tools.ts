import type { WebConfig } from '@caribou/config';
import type { ToolSource } from '@caribou/core';
import { imageSearchTool } from './image-search.js';
import type { WebPorts } from './ports.js';
import { webFetchTool } from './web-fetch.js';
import { webSearchTool } from './web-search.js';

/**
 * The configured web tools. They are created once and use the network only when called, so they cost nothing in an
 * installation without internet access.
 *
 * @throws {InvalidRequestError} for an invalid host rule
 */
export function webTools({ search, fetch, images }: WebConfig, ports: WebPorts): ToolSource {
  const tools = [
    ...(search.enabled ? [webSearchTool(search, ports)] : []),
    ...(fetch.enabled ? [webFetchTool(fetch, ports)] : []),
    ...(images.enabled ? [imageSearchTool(images, ports)] : []),
  ];
  return { tools: () => Promise.resolve(tools) };
}
