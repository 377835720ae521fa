import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { type Findings, isRecord } from './findings.js';
import { type Environment, variable } from './references.js';

const MAX_FILE_BYTES = 1024 * 1024;

/**
 * The object in config.yaml: the file that CARIBOU_CONFIG names, which must exist, else ./config.yaml if there is
 * one, else an empty object.
 */
export function readConfigFile(env: Environment, cwd: string, findings: Findings): Readonly<Record<string, unknown>> {
  const named = variable(env, 'CARIBOU_CONFIG');
  const path = configFilePath(env, cwd);
  const text = readText(path, named !== undefined, findings);
  if (text === undefined) return {};
  const value = parse(text, path, findings);
  if (value === undefined || value === null) return {};
  if (isRecord(value)) return value;
  findings.faults.push(`${path}: must hold keys and values`);
  return {};
}

/** Absolute path of the file, whether it is there or not. */
export const configFilePath = (env: Environment, cwd: string): string =>
  resolve(cwd, variable(env, 'CARIBOU_CONFIG') ?? 'config.yaml');

function readText(path: string, required: boolean, findings: Findings): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) {
    if (required) findings.faults.push(`CARIBOU_CONFIG: there is no file ${path}`);
    return undefined;
  }
  if (stat.isDirectory() || stat.size > MAX_FILE_BYTES) {
    findings.faults.push(`${path}: must be a file of at most ${MAX_FILE_BYTES} bytes`);
    return undefined;
  }
  return readFileSync(path, 'utf8');
}

/** The parser's own messages quote the line, which may hold a key; only its code and the place are told. */
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
