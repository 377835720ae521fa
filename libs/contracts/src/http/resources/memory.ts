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
  agent: MemoryAgent.default(LEAD_AGENT).describe('A custom agent with a memory of its own'),
});
const FactPath = z.object({ fact_id: z.string().min(1).max(200) });

const get = route({
  name: 'getMemory',
  group,
  method: 'GET',
  path: '/memory',
  summary: 'What is remembered of you; empty when nothing is.',
  query: OfAgent,
  reply: MemoryDocument,
});

const clear = route({
  name: 'clearMemory',
  group,
  method: 'DELETE',
  path: '/memory',
  summary: 'Forget all facts and summaries of one agent. Answers the empty memory.',
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
    'Erase every memory of yours, of all agents, with history, what was moved aside and what is still to be read. ' +
    'What was said before is never looked at again.',
  status: 204,
  reply: 'empty',
});

const config = route({
  name: 'getMemoryConfig',
  group,
  method: 'GET',
  path: '/memory/config',
  summary: 'How memory is configured.',
  reply: MemoryConfigReply,
});

const status = route({
  name: 'getMemoryStatus',
  group,
  method: 'GET',
  path: '/memory/status',
  summary: 'Configuration and memory together, what is still to be read, and what went wrong.',
  query: OfAgent,
  reply: MemoryStatusReply,
});

const reload = route({
  name: 'reloadMemory',
  group,
  method: 'POST',
  path: '/memory/reload',
  summary: 'The memory as it stands in the store. Nothing is cached, so this is what GET gives.',
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
  summary: 'The facts, of one category or one thread if asked for.',
  query: OfAgent.extend({ category: FactCategory.optional(), source: ThreadId.optional() }),
  reply: FactListReply,
});

const addFact = route({
  name: 'addMemoryFact',
  group,
  method: 'POST',
  path: '/memory/facts',
  summary: 'Add a fact by hand. Answers the whole memory.',
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
  summary: 'Change a fact. Answers the whole memory.',
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
  summary: 'Forget a fact. Answers the whole memory.',
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
  summary: "Replace the memory by an export or by DeerFlow's memory.json. Answers the whole memory.",
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
