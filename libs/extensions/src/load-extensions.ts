import { ConfigError, type Secret } from '@caribou/config';
import type { AgentMiddleware, AnyTool } from '@caribou/core';
import { type ExportEntry, loadExport, type LoadOptions } from './load-export.js';
import { ownState } from './own-state.js';
import { CustomMiddleware, CustomTool } from './custom-types.js';

/** An entry of `tools` for a tool of the operator. */
export interface ToolEntry {
  /** `tools[3]`. */
  readonly key: string;
  readonly name: string;
  readonly group?: string;
  readonly use: string;
  readonly options: Secret<Readonly<Record<string, unknown>>>;
}

/** The operator's middlewares and tools in the configuration, in order. */
export interface ExtensionEntries {
  readonly middlewares: readonly ExportEntry[];
  readonly tools: readonly ToolEntry[];
}

export interface Extensions {
  readonly middlewares: readonly AgentMiddleware[];
  readonly tools: readonly AnyTool[];
}

export interface ExtensionOptions extends LoadOptions {
  /** Names of the built-in middlewares, which no other may take: node names, log lines and state fields carry them. */
  readonly reserved: ReadonlySet<string>;
}

/** An error text, or the loaded value. */
type Read<T> = string | T;

/**
 * The operator's middlewares and tools, in the order of the config.
 *
 * @throws {ConfigError} with a line for each entry that cannot be used, with its name and the reason
 */
export async function loadExtensions(entries: ExtensionEntries, options: ExtensionOptions): Promise<Extensions> {
  const middlewares: AgentMiddleware[] = [];
  const tools: AnyTool[] = [];
  const faults: string[] = [];
  const addOrReport = <T>(key: string, use: string, read: Read<T>, into: T[]): void => {
    if (typeof read === 'string') faults.push(`${key} (${use}): ${read}`);
    else into.push(read);
  };
  for (const [index, entry] of entries.middlewares.entries()) {
    const read = distinct(await middlewareOf(entry, options), middlewares, options.reserved);
    addOrReport(`extensions.middlewares[${index}]`, entry.use, read, middlewares);
  }
  const taken = toolNames(middlewares);
  for (const entry of entries.tools) {
    const read = await toolOf(entry, options);
    const isTaken = typeof read !== 'string' && [...taken, ...tools.map(({ name }) => name)].includes(read.name);
    addOrReport(entry.key, entry.use, isTaken ? `there is another tool '${entry.name}'` : read, tools);
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return { middlewares, tools };
}

async function middlewareOf(entry: ExportEntry, options: LoadOptions): Promise<Read<AgentMiddleware>> {
  const made = await loadExport(entry, options);
  if ('fault' in made) return made.fault;
  if (made.value instanceof CustomMiddleware) return made.value.middleware;
  return `${exportName(entry.use)} must return what defineMiddleware gives`;
}

async function toolOf({ name, group, use, options: given }: ToolEntry, options: LoadOptions): Promise<Read<AnyTool>> {
  const made = await loadExport({ use, options: given.reveal() }, options);
  if ('fault' in made) return made.fault;
  const tool: unknown = made.value;
  if (!(tool instanceof CustomTool)) return `${exportName(use)} must return what defineTool gives`;
  if (tool.name !== name) return `the tool is '${tool.name}' by its definition; the entry must have the same name`;
  const bound = tool.bind({ kind: 'tool', name }, ownState(name, undefined));
  return group === undefined ? bound : { ...bound, group };
}

const exportName = (use: string): string => use.slice(use.lastIndexOf('#') + 1);

const toolNames = (middlewares: readonly AgentMiddleware[]): readonly string[] =>
  middlewares.flatMap(({ tools = [] }) => tools.map(({ name }) => name));

/** The middleware, unless its name or that of one of its tools is in use. */
function distinct(
  read: Read<AgentMiddleware>,
  before: readonly AgentMiddleware[],
  reserved: ReadonlySet<string>,
): Read<AgentMiddleware> {
  if (typeof read === 'string') return read;
  if (reserved.has(read.name))
    return `its definition is wrong: name: ${read.name} is the name of a built-in middleware`;
  if (before.some(({ name }) => name === read.name)) return `there is another middleware '${read.name}'`;
  const names = [...toolNames(before), ...toolNames([read])];
  const twice = names.find((name, index) => names.indexOf(name) < index);
  return twice === undefined ? read : `there is another tool '${twice}'`;
}
