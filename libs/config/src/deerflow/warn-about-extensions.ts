import { readFileSync, statSync } from 'node:fs';
import { isRecord } from '@caribou/contracts';
import { pythonMiddlewareWarning } from './deerflow-keys.js';
import type { Findings } from '../common/findings.js';

const MAX_BYTES = 1024 * 1024;
const FILE = 'extensions_config.json';

/** Keys that other modules read whenever the file changes. */
const supportedKeys = new Set(['mcpServers', 'skills']);

/**
 * Warns about the keys of the operator's extensions_config.json that have no counterpart. An unusable file is only a
 * warning here, because the running services read the file again and again.
 */
export function warnAboutExtensions(path: string, findings: Findings): void {
  const content = readJson(path);
  if (content === undefined) return;
  if (!isRecord(content)) {
    findings.warnings.push(`${path}: not used: it must be a JSON object of at most ${MAX_BYTES} bytes; correct it`);
    return;
  }
  for (const [key, value] of Object.entries(content)) {
    if (supportedKeys.has(key)) continue;
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (key === 'middlewares') {
      for (const [index, use] of list.entries())
        findings.warnings.push(pythonMiddlewareWarning(`${FILE}: middlewares[${index}]`, String(use)));
    } else if (key === 'mcpInterceptors') {
      if (list.length > 0)
        findings.warnings.push(`${FILE}: ${key}: not used: there is no counterpart; give servers headers or oauth`);
    } else findings.warnings.push(`${FILE}: ${key}: not used: there is no such key; mcpServers and skills are read`);
  }
}

/** Returns undefined when there is no file, and null when the file cannot be used. */
function readJson(path: string): unknown {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isFile() || stat.size > MAX_BYTES) return null;
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // The error's message quotes the text, which may hold a key.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
