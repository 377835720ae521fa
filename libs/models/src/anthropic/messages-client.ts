import type { ModelConfig } from '@caribou/config';
import type { Post, Transport } from '../http/http-transport.js';
import { keyHeaders } from '../http/key-headers.js';

/** The version of the API, which each request names (page "Versions", platform.claude.com, November 2026). */
export const VERSION_HEADER = { 'anthropic-version': '2023-06-01' };
/** Thinking between calls with a budget, for Claude 4 to 4.5; later models need no header. */
const INTERLEAVED_THINKING = 'interleaved-thinking-2025-05-14';
/** `thinking.block_binding`. */
const THINKING_BINDING = 'thinking-binding-controls-2026-08-01';

/** Sends bodies to `/v1/messages` over the transport, without the vendor's package (docs/adr/0016-anthropic-transport.md). */
export const postMessages = (config: ModelConfig, transport: Transport): Post =>
  transport.openTarget({ url: anthropicUrl(config, 'messages'), headers: headersOf(config) });

/**
 * The URL of a path behind `/v1/`; base URLs are written with and without this version.
 *
 * @param path may have a query
 */
export function anthropicUrl({ baseUrl, query = {} }: Pick<ModelConfig, 'baseUrl' | 'query'>, path: string): string {
  const base = new URL(baseUrl);
  const folder = base.pathname.replace(/\/+$/, '');
  const url = new URL(`${folder}${folder.endsWith('/v1') ? '' : '/v1'}/${path}`, base);
  url.username = base.username;
  url.password = base.password;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

/** Configured headers take precedence; beta features of both are joined. */
export function headersOf(config: ModelConfig): Headers {
  const { anthropic, body, headers: configured } = config;
  const headers = new Headers({ 'content-type': 'application/json', ...VERSION_HEADER, ...keyHeaders(config) });
  for (const [name, value] of Object.entries(configured)) headers.set(name, value.reveal());
  const betas = [
    ...(headers.get('anthropic-beta') ?? '').split(','),
    ...(Array.isArray(body['betas']) ? body['betas'].filter((beta) => typeof beta === 'string') : []),
    ...(anthropic?.needsInterleavedHeader === true && anthropic.thinking === 'budget' ? [INTERLEAVED_THINKING] : []),
    ...(anthropic?.bindsThinking === true ? [THINKING_BINDING] : []),
  ].map((beta) => beta.trim());
  const joined = [...new Set(betas)].filter((beta) => beta !== '').join(',');
  if (joined !== '') headers.set('anthropic-beta', joined);
  return headers;
}
