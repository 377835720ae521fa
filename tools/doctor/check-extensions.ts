import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { type Config, ConfigError, extensionsFile } from '@caribou/config';
import { McpServer } from '@caribou/contracts';
import { loadExtensions, loadModels } from '@caribou/extensions';
import { MIDDLEWARE_NAMES } from '@caribou/middleware';
import { type Finding, fail, ok, warn } from './finding.js';
import type { DoctorContext } from './doctor-context.js';

const MAX_SKILL_DEPTH = 6;
const MAX_SKILLS = 1_000;
const LEFT_OUT = 'correct the entry; until then it is left out';

/** Loads the operator's own code as the runner does. */
export async function checkOwnCode(config: Config): Promise<readonly Finding[]> {
  const { middlewares } = config.chain.extensions;
  const { custom } = config.tools;
  const models = config.models.filter(({ module }) => module !== undefined);
  if (middlewares.length + custom.length + models.length === 0) return [];
  try {
    const loaded = await loadExtensions({ middlewares, tools: custom }, { reserved: MIDDLEWARE_NAMES });
    await loadModels(models);
    const counts = `${loaded.middlewares.length} middlewares, ${loaded.tools.length} tools and ${models.length} models`;
    return [ok('your code', `${counts} load`)];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.faults.map((fault) => fail('your code', fault, 'correct the entry or the module'));
  }
}

/** Checks that the servers of extensions_config.json are valid and that their programs exist. None is started. */
export async function checkMcp(config: Config, context: DoctorContext): Promise<readonly Finding[]> {
  const { content, problem } = await extensionsFile(config.extensionsConfigPath).read();
  if (problem !== undefined) return [fail('mcp', problem, 'correct the file; until then its servers are not used')];
  const servers = content['mcpServers'];
  if (servers === undefined) return [ok('mcp', 'no servers')];
  if (typeof servers !== 'object' || servers === null)
    return [fail('mcp', `${config.extensionsConfigPath}: mcpServers must be an object`, 'correct the file')];
  return Object.entries(servers).map(([name, value]: [string, unknown]) => checkServer(name, value, context));
}

function checkServer(name: string, value: unknown, context: DoctorContext): Finding {
  const parsed = McpServer.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const what = `${name}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'it cannot be used'}`;
    return warn('mcp', what, LEFT_OUT);
  }
  const { enabled, type, transport } = parsed.data;
  if (!enabled) return ok('mcp', `${name}: switched off`);
  const unset = unsetVariables(value, context.env);
  if (unset.length > 0)
    return warn('mcp', `${name}: not set: ${unset.join(', ')}`, 'set the variables, or switch it off');
  const way = type ?? transport ?? 'stdio';
  return way === 'stdio' ? checkProgram(name, parsed.data, context) : checkAddress(name, parsed.data, way);
}

/** Variables that strings of the form `$NAME` refer to. */
const unsetVariables = (value: unknown, env: DoctorContext['env']): readonly string[] =>
  [...JSON.stringify(value).matchAll(/"\$([A-Za-z_]\w*)"/g)].flatMap(([, name = '']) =>
    (env[name] ?? '') === '' ? [name] : [],
  );

function checkProgram(name: string, { command }: McpServer, { findProgram }: DoctorContext): Finding {
  if (command === undefined || command === null || command === '')
    return warn('mcp', `${name}: stdio needs a command`, LEFT_OUT);
  const isThere = isAbsolute(command) ? existsSync(command) : findProgram(command) !== undefined;
  if (isThere) return ok('mcp', `${name}: stdio, ${command}`);
  return warn('mcp', `${name}: the program ${command} does not exist`, 'install it; until then the server is left out');
}

/** Shows only the host, as a URL may contain a password. */
function checkAddress(name: string, { url }: McpServer, way: string): Finding {
  if (typeof url === 'string' && URL.canParse(url)) return ok('mcp', `${name}: ${way}, ${new URL(url).host}`);
  return warn('mcp', `${name}: ${way} needs a url`, LEFT_OUT);
}

/** Checks the skills that are shipped, or that the operator added. */
export function checkSkills({ root }: DoctorContext): readonly Finding[] {
  const folder = join(root, 'skills');
  if (!existsSync(folder)) return [];
  const files = skillFiles(folder, 0);
  const broken = files.filter((file) => !/^---\r?\n[\s\S]*?^name:.*[\s\S]*?^---\s*$/m.test(readFileSync(file, 'utf8')));
  return [
    ok('skills', `${files.length - broken.length} in ${folder}`),
    ...broken.map((file) => warn('skills', `${file} has no front matter with a name`, 'correct it; it is left out')),
  ];
}

function skillFiles(folder: string, depth: number): readonly string[] {
  if (depth > MAX_SKILL_DEPTH) return [];
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.'));
  const here = entries
    .filter((entry) => entry.isFile() && entry.name === 'SKILL.md')
    .map(({ name }) => join(folder, name));
  if (here.length > 0) return here;
  return entries
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => skillFiles(join(folder, name), depth + 1))
    .slice(0, MAX_SKILLS);
}
