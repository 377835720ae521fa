import { readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isRecord } from '@caribou/contracts';
import { LineCounter, parseDocument } from 'yaml';
import { readPathVariable } from '../deerflow/path-variables.js';
import type { Findings } from '../common/findings.js';
import type { Environment } from '../common/references.js';

const MAX_FILE_BYTES = 1024 * 1024;

/** The content of config.yaml. */
export interface ConfigFile {
  readonly fields: Readonly<Record<string, unknown>>;
  /** Absolute path of its folder, also when there is no file. */
  readonly folder: string;
}

/**
 * Reads the file that CARIBOU_CONFIG (or DEER_FLOW_CONFIG_PATH) names, which must exist, else ./config.yaml. Returns no
 * fields when there is no file.
 */
export function readConfigFile(env: Environment, cwd: string, findings: Findings): ConfigFile {
  const named = readPathVariable({ env, cwd, findings }, 'CARIBOU_CONFIG');
  const path = named?.path ?? resolve(cwd, 'config.yaml');
  const empty = { fields: {}, folder: dirname(path) };
  const text = readText(path, named?.name, findings);
  if (text === undefined) return empty;
  const value = parse(text, path, findings);
  if (value === undefined || value === null) return empty;
  if (isRecord(value)) return { ...empty, fields: value };
  findings.faults.push(`${path}: must hold keys and values`);
  return empty;
}

/** @param requiredBy the variable that names the file; the file must exist when it is set */
function readText(path: string, requiredBy: string | undefined, findings: Findings): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) {
    if (requiredBy !== undefined) findings.faults.push(`${requiredBy}: there is no file ${path}`);
    return undefined;
  }
  if (stat.isDirectory() || stat.size > MAX_FILE_BYTES) {
    findings.faults.push(`${path}: must be a file of at most ${MAX_FILE_BYTES} bytes`);
    return undefined;
  }
  return readFileSync(path, 'utf8');
}

/** Reports only code and position of a YAML error: the parser's message quotes the line, which may hold a key. */
function parse(text: string, path: string, findings: Findings): unknown {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  for (const error of document.errors) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    findings.faults.push(`${path}: line ${line}, column ${col}: not valid YAML (${error.code})`);
  }
  if (document.errors.length > 0) return undefined;
  return document.toJS({ maxAliasCount: 100 });
}
