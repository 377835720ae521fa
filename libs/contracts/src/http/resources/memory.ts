import { z } from 'zod';
import { ThreadId } from '../../common/ids.js';
import { FactCategory, MemoryAgent, MemoryDocument } from '../../records/memory.js';
import { LEAD_AGENT } from '../../records/runs.js';
import {
  FactChanges,
  FactListReply,
  MemoryConfigReply,
  MemoryHistoryReply,
  MemoryImport,
  MemoryStatusReply,
  NewFact,
} from './memory-shapes.js';
import { route } from '../route.js';

const group = 'Memory';

const OfAgent = z.object({
  agent: MemoryAgent.default(LEAD_AGENT).describe('A custom agent, which has its own memory'),
});
const FactPath = z.object({ fact_id: z.string().min(1).max(200) });

const get = route({
  name: 'getMemory',
  group,
  method: 'GET',
  path: '/memory',
  summary: 'The memory of you; it may be empty.',
  query: OfAgent,
  reply: MemoryDocument,
});

const clear = route({
  name: 'clearMemory',
  group,
  method: 'DELETE',
  path: '/memory',
  summary: 'Delete all facts and summaries of one agent. Returns the empty memory.',
  query: OfAgent,
  reply: MemoryDocument,
  refusals: [409],
});

const erase = route({
  name: 'eraseMemories',
  group,
  method: 'DELETE',
  path: '/memory/all',
  summary:
    'Erase all your memories, of all agents, with history, quarantined records and queued extractions. ' +
    'Earlier messages are never extracted again.',
  status: 204,
  reply: 'empty',
});

const config = route({
  name: 'getMemoryConfig',
  group,
  method: 'GET',
  path: '/memory/config',
  summary: 'The configuration of memory.',
  reply: MemoryConfigReply,
});

const status = route({
  name: 'getMemoryStatus',
  group,
  method: 'GET',
  path: '/memory/status',
  summary: 'Configuration and memory together, with pending and failed extractions.',
  query: OfAgent,
  reply: MemoryStatusReply,
});

const reload = route({
  name: 'reloadMemory',
  group,
  method: 'POST',
  path: '/memory/reload',
  summary: 'The stored memory. Nothing is cached, so this equals GET.',
  query: OfAgent,
  reply: MemoryDocument,
});

const history = route({
  name: 'getMemoryHistory',
  group,
  method: 'GET',
  path: '/memory/history',
  summary: 'The last changes of the memory, newest first: at most 20.',
  query: OfAgent,
  reply: MemoryHistoryReply,
});

const facts = route({
  name: 'listMemoryFacts',
  group,
  method: 'GET',
  path: '/memory/facts',
  summary: 'The facts, optionally of one category or one thread.',
  query: OfAgent.extend({ category: FactCategory.optional(), source: ThreadId.optional() }),
  reply: FactListReply,
});

const addFact = route({
  name: 'addMemoryFact',
  group,
  method: 'POST',
  path: '/memory/facts',
  summary: 'Add a fact. Returns the whole memory.',
  query: OfAgent,
  body: NewFact,
  reply: MemoryDocument,
  refusals: [409, 413],
});

const editFact = route({
  name: 'editMemoryFact',
  group,
  method: 'PATCH',
  path: '/memory/facts/:fact_id',
  summary: 'Change a fact. Returns the whole memory.',
  params: FactPath,
  query: OfAgent,
  body: FactChanges,
  reply: MemoryDocument,
  refusals: [404, 409, 413],
});

const removeFact = route({
  name: 'deleteMemoryFact',
  group,
  method: 'DELETE',
  path: '/memory/facts/:fact_id',
  summary: 'Delete a fact. Returns the whole memory.',
  params: FactPath,
  query: OfAgent,
  reply: MemoryDocument,
  refusals: [404, 409],
});

const exported = route({
  name: 'exportMemory',
  group,
  method: 'GET',
  path: '/memory/export',
  summary: 'The memory as a file that can be imported again.',
  query: OfAgent,
  reply: MemoryDocument,
});

const imported = route({
  name: 'importMemory',
  group,
  method: 'POST',
  path: '/memory/import',
  summary: "Replace the memory by an export or by DeerFlow's memory.json. Returns the whole memory.",
  query: OfAgent,
  body: MemoryImport,
  reply: MemoryDocument,
  refusals: [409, 413],
});

export const memoryRoutes = {
  get,
  clear,
  erase,
  config,
  status,
  reload,
  history,
  facts,
  addFact,
  editFact,
  removeFact,
  exported,
  imported,
};
