import { readFileSync, statSync } from 'node:fs';
import { pythonMiddleware } from './deerflow-keys.js';
import { type Findings, isRecord } from '../common/findings.js';

const MAX_BYTES = 1024 * 1024;
const FILE = 'extensions_config.json';

/** Keys that are read elsewhere, whenever the file changes. */
const read = new Set(['mcpServers', 'skills']);

/**
 * Tells what of the operator's extensions_config.json has no counterpart. The file is looked at again while the system
 * runs, so one that cannot be used is a warning, as it would be then.
 */
export function tellExtensions(path: string, findings: Findings): void {
  const content = contentOf(path);
  if (content === undefined) return;
  if (!isRecord(content)) {
    findings.warnings.push(`${path}: not used: it must be a JSON object of at most ${MAX_BYTES} bytes; correct it`);
    return;
  }
  for (const [key, value] of Object.entries(content)) {
    if (read.has(key)) continue;
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (key === 'middlewares') {
      for (const [index, use] of list.entries())
        findings.warnings.push(pythonMiddleware(`${FILE}: middlewares[${index}]`, String(use)));
    } else if (key === 'mcpInterceptors') {
      if (list.length > 0)
        findings.warnings.push(`${FILE}: ${key}: not used: there is no counterpart; give servers headers or oauth`);
    } else findings.warnings.push(`${FILE}: ${key}: not used: there is no such key; mcpServers and skills are read`);
  }
}

/** Undefined when there is no file; null when it cannot be used. */
function contentOf(path: string): unknown {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isFile() || stat.size > MAX_BYTES) return null;
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // Its words quote the text, which may hold a key.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
