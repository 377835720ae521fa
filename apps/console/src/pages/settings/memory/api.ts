import type { memoryRoutes } from '@caribou/contracts';
import { useQuery } from '@tanstack/react-query';
import { endpoint } from '../../../api/endpoint.js';

const getStatus = endpoint<typeof memoryRoutes.status>('GET', '/memory/status');
const getHistory = endpoint<typeof memoryRoutes.history>('GET', '/memory/history');

export const addFact = endpoint<typeof memoryRoutes.addFact>('POST', '/memory/facts');
export const editFact = endpoint<typeof memoryRoutes.editFact>('PATCH', '/memory/facts/:fact_id');
export const removeFact = endpoint<typeof memoryRoutes.removeFact>('DELETE', '/memory/facts/:fact_id');
export const clearMemory = endpoint<typeof memoryRoutes.clear>('DELETE', '/memory');
export const eraseMemories = endpoint<typeof memoryRoutes.erase>('DELETE', '/memory/all');
export const exportMemory = endpoint<typeof memoryRoutes.exported>('GET', '/memory/export');
export const importMemory = endpoint<typeof memoryRoutes.imported>('POST', '/memory/import');

export type MemoryStatus = Awaited<ReturnType<typeof getStatus>>;
export type Memory = MemoryStatus['data'];
export type Fact = Memory['facts'][number];
export type Category = Fact['category'];
export type MemoryChange = Awaited<ReturnType<typeof getHistory>>['changes'][number];

/** The queries of all memories. */
export const MEMORY = ['memory'] as const;

export const useMemoryStatus = (agent: string) =>
  useQuery({
    queryKey: [...MEMORY, 'status', agent],
    queryFn: ({ signal }) => getStatus({ query: { agent }, signal }),
    // What waits to be read changes by itself.
    refetchInterval: 15_000,
  });

export const useMemoryHistory = (agent: string) =>
  useQuery({
    queryKey: [...MEMORY, 'history', agent],
    queryFn: ({ signal }) => getHistory({ query: { agent }, signal }),
  });
