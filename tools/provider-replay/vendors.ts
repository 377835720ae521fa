import type { VendorDefinition } from './framework/vendor.js';
import { anthropic } from './vendors/anthropic/vendor.js';
import { azure } from './vendors/azure/azure.js';
import { bedrock } from './vendors/bedrock/bedrock.js';
import { deepseek } from './vendors/deepseek/deepseek.js';
import { gemini } from './vendors/gemini/gemini.js';
import { kimi } from './vendors/kimi/kimi.js';
import { minimax } from './vendors/minimax/minimax.js';
import { mistral } from './vendors/mistral/mistral.js';
import { ollama } from './vendors/ollama/ollama.js';
import { openai } from './vendors/openai/openai.js';
import { openrouter } from './vendors/openrouter/openrouter.js';
import { responses } from './vendors/responses/vendor.js';
import { vllm } from './vendors/vllm/vllm.js';

export const vendors: readonly VendorDefinition[] = [
  anthropic,
  azure,
  bedrock,
  deepseek,
  gemini,
  kimi,
  minimax,
  mistral,
  ollama,
  openai,
  openrouter,
  responses,
  vllm,
];

/**
 * The vendor of this name.
 *
 * @throws TypeError that lists the names there are.
 */
export function vendorNamed(name: string): VendorDefinition {
  const vendor = vendors.find((one) => one.name === name);
  if (vendor === undefined) {
    throw new TypeError(`--vendor must be one of ${vendors.map((one) => one.name).join(', ')}, not "${name}"`);
  }
  return vendor;
}
