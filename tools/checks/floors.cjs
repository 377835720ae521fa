/**
 * Who may import whom: the one list behind both guards, lint (eslint.config.mjs, by import text) and
 * dependency-cruiser (.dependency-cruiser.cjs, by resolved path).
 */

/** Libs from the ground up. A lib imports only lower floors, never a neighbour. */
const floors = [
  ['contracts'],
  ['core', 'config', 'observability'],
  [
    'middleware',
    'tools',
    'models',
    'state',
    'bus',
    'sandbox',
    'files',
    'skills',
    'mcp',
    'documents',
    'egress',
    'extensions',
    'memory',
    'web',
    'page-files',
    'objects',
  ],
  ['agent', 'runs', 'nest', 'service'],
  ['worker'],
];

/** The console is a page: it runs in browsers, and takes types from contracts only. */
const apps = [
  'gateway',
  'agent-runner',
  'sandbox-manager',
  'sandbox-agent',
  'memory-worker',
  'subagent-pool',
  'console',
];

/** Packages (a trailing slash names a whole scope) and the folders that are their door. */
const vendorDoors = [
  { packages: ['nats'], doors: ['libs/bus'] },
  { packages: ['ioredis'], doors: ['libs/state'] },
  { packages: ['openai'], doors: ['libs/models'] },
  { packages: ['@anthropic-ai/'], doors: ['libs/models', 'tools/provider-replay'] },
  { packages: ['dockerode'], doors: ['libs/sandbox'] },
  { packages: ['pino', 'prom-client', '@opentelemetry/'], doors: ['libs/observability'] },
  { packages: ['rxjs', 'fastify', '@nestjs/', '@fastify/'], doors: ['libs/nest', 'apps'] },
  { packages: ['@modelcontextprotocol/'], doors: ['libs/mcp'] },
  { packages: ['cookie', 'croner', 'ws'], doors: ['apps'] },
  { packages: ['undici'], doors: ['libs/egress', 'libs/models'] },
  {
    packages: ['unpdf', 'mammoth', '@e965/xlsx', 'turndown', 'linkedom', '@mozilla/readability'],
    doors: ['libs/documents'],
  },
  { packages: ['htmlparser2'], doors: ['libs/web'] },
  { packages: ['re2js'], doors: ['libs/middleware'] },
  { packages: ['gpt-tokenizer', 'jsonrepair'], doors: ['libs/memory'] },
  { packages: ['swagger-ui-dist'], doors: ['libs/page-files'] },
  { packages: ['aws4'], doors: ['libs/objects'] },
  {
    packages: [
      ...['react', 'react-dom', 'react-router', 'react-markdown', 'remark-gfm', 'rehype-highlight'],
      ...['@base-ui/', '@tanstack/', 'lucide-react', 'uplot', '@langchain/'],
    ],
    doors: ['apps/console'],
  },
  { packages: ['yaml'], doors: ['libs/config', 'libs/skills'] },
];

/**
 * Access to files: user data is opened by libs/files alone, which follows no link out of a thread's folder. libs/sandbox
 * makes directories of its own and libs/objects a store whose files it names itself; the other doors read what ships with the product (scripts, prompts) or what the operator
 * wrote. The agent of a pod looks at the processes in /proc.
 */
const diskDoors = [
  'libs/files',
  'libs/sandbox',
  'libs/config',
  'libs/state',
  'libs/skills',
  'libs/page-files',
  'libs/objects',
  'apps/sandbox-agent',
];

/** The libs that `lib` may import besides itself. */
function openTo(lib) {
  const floor = floors.findIndex((names) => names.includes(lib));
  if (floor < 0) throw new Error(`libs/${lib} is on no floor: add it to tools/checks/floors.cjs`);
  return floors.slice(0, floor).flat();
}

module.exports = { floors, apps, vendorDoors, diskDoors, openTo };
