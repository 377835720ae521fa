import { resolve } from 'node:path';
import { isRecord, omitUndefined } from '@caribou/contracts';
import { z } from 'zod';
import type { CustomToolConfig, ToolsConfig } from '../settings/config.js';
import { isPythonPath } from './deerflow-keys.js';
import { addIssues, type Findings } from '../common/findings.js';
import { MODULE_EXPORT } from '../common/module-export.js';
import { type Environment, resolveReferences } from '../common/references.js';
import { Secret } from '../common/secret.js';
import { allGroups, readDeclaredGroups, GroupName } from './tool-groups.js';
import { counterpartOf, asWebTool, OPTIONAL_TOOLS, providersOf, type WebTool, webOptions } from './tool-classes.js';

type Fields = Readonly<Record<string, unknown>>;

const MAX_ENTRIES = 500;

const ToolEntry = z.looseObject({
  name: z.string().regex(/^[A-Za-z_][\w-]{0,63}$/, 'must be 1 to 64 letters, digits, "_" or "-"'),
  group: GroupName.nullish(),
  use: z.string().min(1).max(1_000).optional(),
});
type ToolEntry = z.output<typeof ToolEntry>;

interface ReadContext {
  readonly env: Environment;
  readonly findings: Findings;
  /** Absolute path of the folder of config.yaml. */
  readonly folder: string;
}

/** The tool that an entry names; undefined when it has none, which is then among the findings. */
type Found =
  | { readonly kind: 'built in'; readonly name: string }
  | { readonly kind: 'web'; readonly name: WebTool; readonly options: Fields }
  | { readonly kind: 'custom'; readonly tool: CustomToolConfig }
  | undefined;

export interface LoadedTools {
  readonly tools: ToolsConfig;
  /** The file, with the options of web tools from `tools` moved to its section `web`. */
  readonly file: Fields;
}

/**
 * Reads the entries of `tools`: DeerFlow's tools that have a counterpart, the operator's own tools, and others, each with
 * one warning. When the list names more than the operator's own tools, only the tools it names are offered.
 */
export function readTools(file: Fields, context: ReadContext): LoadedTools {
  const read = readList(file, context);
  const declared = readDeclaredGroups(file['tool_groups'], context.findings);
  return { ...read, tools: { ...read.tools, groupNames: allGroups(declared, read.tools) } };
}

interface LoadedList extends Pick<LoadedTools, 'file'> {
  readonly tools: Omit<ToolsConfig, 'groupNames'>;
}

function readList(file: Fields, context: ReadContext): LoadedList {
  const all: LoadedList = { tools: { hidden: [], groups: {}, custom: [] }, file };
  const list: unknown = file['tools'];
  if (list === undefined || list === null) return all;
  if (!Array.isArray(list) || list.length > MAX_ENTRIES) {
    context.findings.faults.push(`tools: must be a list of at most ${MAX_ENTRIES} entries`);
    return all;
  }
  const seen = new Set<string>();
  const read = list.map((item: unknown, index) => readEntry(item, `tools[${index}]`, { ...context, seen }));
  const custom = read.flatMap(({ found }) => (found?.kind === 'custom' ? [found.tool] : []));
  const builtIn = read.flatMap(({ found, group }) =>
    found === undefined || found.kind === 'custom' ? [] : [{ found, group }],
  );
  const addsOnly = custom.length > 0 && custom.length === list.length;
  return {
    tools: {
      hidden: addsOnly ? [] : OPTIONAL_TOOLS.filter((name) => !builtIn.some(({ found }) => found.name === name)),
      groups: Object.fromEntries(
        builtIn.flatMap(({ found, group }) => (group === undefined ? [] : [[found.name, group]])),
      ),
      custom,
    },
    file: {
      ...file,
      ...withWeb(
        file['web'],
        builtIn.map(({ found }) => found),
        context.findings,
      ),
    },
  };
}

interface EntryContext extends ReadContext {
  /** Names of earlier entries. */
  readonly seen: Set<string>;
}

interface ReadEntry {
  readonly found: Found;
  readonly group: string | undefined;
}

function readEntry(item: unknown, key: string, context: EntryContext): ReadEntry {
  const parsed = ToolEntry.safeParse(item);
  if (!parsed.success) {
    addIssues(context.findings, key, parsed.error);
    return { found: undefined, group: undefined };
  }
  const entry = parsed.data;
  const found = entryOf(entry, key, context);
  const name = found === undefined ? entry.name : found.kind === 'custom' ? found.tool.name : found.name;
  if (found === undefined || !context.seen.has(name)) {
    context.seen.add(name);
    return { found, group: entry.group ?? undefined };
  }
  context.findings.warnings.push(`${key}: left out: an earlier entry is the tool ${name} already; remove one`);
  return { found: undefined, group: undefined };
}

function entryOf({ name, group, use, ...given }: ToolEntry, key: string, context: EntryContext): Found {
  const { findings } = context;
  if (use !== undefined && MODULE_EXPORT.test(use)) {
    const options = resolveOptions(given, key, context);
    const tool = { key, name, use: resolve(context.folder, use), options: new Secret(options) };
    return { kind: 'custom', tool: { ...tool, ...omitUndefined({ group: group ?? undefined }) } };
  }
  if (use === undefined) {
    if (OPTIONAL_TOOLS.includes(name)) {
      reportUnusedOptions(given, key, findings);
      return { kind: 'built in', name };
    }
    findings.faults.push(`${key}.use: must be given: there is no built-in tool ${name}`);
    return undefined;
  }
  const known = counterpartOf(use);
  if (known === undefined) {
    findings.warnings.push(`${key}: the tool ${name} is left out: ${suggestReplacement(use)}`);
    return undefined;
  }
  if (known.provider === undefined) {
    reportUnusedOptions(given, key, findings);
    return { kind: 'built in', name: known.name };
  }
  const { taken, left } = webOptions(known, given);
  reportUnusedOptions(left, key, findings);
  return { kind: 'web', name: known.name, options: resolveOptions(taken, key, context) };
}

function suggestReplacement(use: string): string {
  const web = asWebTool(use.slice(use.lastIndexOf(':') + 1).replace(/_tool$/, ''));
  if (web !== undefined) {
    return `${use} has no counterpart; take one of the providers ${providersOf(web).join(', ')} (docs/web-tools.md)`;
  }
  const instead = 'write it as a module (docs/custom-tool.md) or offer it over an MCP server (extensions_config.json)';
  return isPythonPath(use)
    ? `${use} is Python and has no counterpart; ${instead}`
    : `use must be a file and the name of its export, such as ./my-tool.mjs#myTool; ${instead}`;
}

function resolveOptions(given: Fields, key: string, context: EntryContext): Fields {
  const resolved = resolveReferences(given, key, context);
  return isRecord(resolved) ? resolved : {};
}

/** Adds a notice for options that the tool does not have. */
function reportUnusedOptions(given: Fields, key: string, findings: Findings): void {
  const names = Object.keys(given);
  if (names.length > 0) findings.notices.push(`${key}: not used: ${names.join(', ')}`);
}

const sectionOf = { web_search: 'search', web_fetch: 'fetch', image_search: 'images' } as const;

function withWeb(section: unknown, found: readonly NonNullable<Found>[], findings: Findings): Fields {
  if (section !== undefined && section !== null && !isRecord(section)) return {};
  const own = section ?? {};
  const read: Record<string, Fields> = {};
  for (const tool of found) {
    if (tool.kind !== 'web') continue;
    const key = sectionOf[tool.name];
    const written = own[key] ?? {};
    if (!isRecord(written)) continue;
    // A section without a provider extends the entry; one with a provider replaces it.
    if (written['provider'] === undefined) read[key] = { ...tool.options, ...written };
    else findings.notices.push(`tools: provider and options of ${tool.name} are those of web.${key}`);
  }
  return Object.keys(read).length === 0 ? {} : { web: { ...own, ...read } };
}
