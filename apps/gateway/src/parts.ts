import type { ExtensionsFile } from '@caribou/config';
import type {
  AgentStore,
  ConversionStore,
  Logger,
  MemoryStore,
  RunEventLog,
  SharedDocuments,
  SkillCatalog,
  SkillStore,
  TaskStore,
  ThreadStore,
} from '@caribou/core';
import type { DocumentConverter } from '@caribou/documents';
import type { Metrics, Tracing } from '@caribou/observability';
import type { SkillFiles, UserFiles } from '@caribou/sandbox';
import type { Provider } from '@nestjs/common';
import type { ChainCatalog } from './agents/chain-catalog.js';
import {
  AGENTS,
  BUS,
  CHAINS,
  CONVERSIONS,
  CONVERTER,
  DOCUMENTS,
  EVENT_LOG,
  EXTENSIONS_FILE,
  type GatewayBus,
  type GatewaySettings,
  LOGGER,
  MEMORIES,
  METRICS,
  SETTINGS,
  SKILL_CATALOG,
  SKILL_FILES,
  SKILL_STORE,
  TASK_STORE,
  THREAD_STORE,
  TRACING,
  USER_FILES,
} from './ports.js';

/** What skills stand on. */
export interface SkillParts {
  readonly catalog: SkillCatalog;
  readonly store: SkillStore;
  readonly files: SkillFiles;
}

/** What the gateway stands on. */
export interface GatewayParts {
  readonly store: ThreadStore;
  readonly tasks: TaskStore;
  readonly log: RunEventLog;
  readonly bus: GatewayBus;
  readonly files: UserFiles;
  readonly conversions: ConversionStore;
  readonly memories: MemoryStore;
  readonly agents: AgentStore;
  readonly converter: DocumentConverter;
  readonly chains: ChainCatalog;
  readonly skills: SkillParts;
  readonly documents: SharedDocuments;
  readonly extensions: ExtensionsFile;
  readonly settings: GatewaySettings;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly logger: Logger;
}

/** The parts under the tokens by which services ask for them. */
export const partsAsProviders = (parts: GatewayParts): Provider[] => [
  { provide: THREAD_STORE, useValue: parts.store },
  { provide: TASK_STORE, useValue: parts.tasks },
  { provide: EVENT_LOG, useValue: parts.log },
  { provide: BUS, useValue: parts.bus },
  { provide: USER_FILES, useValue: parts.files },
  { provide: CONVERSIONS, useValue: parts.conversions },
  { provide: MEMORIES, useValue: parts.memories },
  { provide: AGENTS, useValue: parts.agents },
  { provide: CONVERTER, useValue: parts.converter },
  { provide: CHAINS, useValue: parts.chains },
  { provide: SKILL_CATALOG, useValue: parts.skills.catalog },
  { provide: SKILL_FILES, useValue: parts.skills.files },
  { provide: SKILL_STORE, useValue: parts.skills.store },
  { provide: DOCUMENTS, useValue: parts.documents },
  { provide: EXTENSIONS_FILE, useValue: parts.extensions },
  { provide: SETTINGS, useValue: parts.settings },
  { provide: METRICS, useValue: parts.metrics },
  { provide: TRACING, useValue: parts.tracing },
  { provide: LOGGER, useValue: parts.logger },
];
