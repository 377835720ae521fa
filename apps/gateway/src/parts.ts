import type { ExtensionsFile } from '@caribou/config';
import type {
  AccountStore,
  AttemptStore,
  AgentStore,
  ConversionStore,
  Locks,
  Logger,
  MemoryStore,
  ModelCatalog,
  RunEventLog,
  SharedDocuments,
  SkillCatalog,
  SkillStore,
  TaskStore,
  ThreadStore,
} from '@caribou/core';
import type { DocumentConverter } from '@caribou/documents';
import type { Metrics, Tracing } from '@caribou/observability';
import type { SharedVolume, SkillFiles, UserFiles } from '@caribou/files';
import type { Provider } from '@nestjs/common';
import type { Erasures } from './erasure/erasures.js';
import type { ChainCatalog } from './agents/chain-catalog.js';
import type { Passwords } from './auth/passwords.js';
import {
  ACCOUNTS,
  ATTEMPTS,
  AGENTS,
  BUS,
  CHAINS,
  CONVERSIONS,
  CONVERTER,
  DOCUMENTS,
  ERASURES,
  EVENT_LOG,
  EXTENSIONS_FILE,
  type GatewayBus,
  type GatewaySettings,
  LOCKS,
  LOGGER,
  MEMORIES,
  METRICS,
  PASSWORDS,
  MODELS,
  SETTINGS,
  SKILL_CATALOG,
  SKILL_FILES,
  SKILL_STORE,
  TASK_STORE,
  THREAD_STORE,
  TRACING,
  USER_FILES,
  VOLUME,
} from './ports.js';

/** What skills stand on. */
export interface SkillParts {
  readonly catalog: SkillCatalog;
  readonly store: SkillStore;
  readonly files: SkillFiles;
}

/** What sign-in stands on. */
export interface SignInParts {
  readonly accounts: AccountStore;
  readonly attempts: AttemptStore;
}

/** What the gateway stands on. */
export interface GatewayParts {
  readonly store: ThreadStore;
  readonly tasks: TaskStore;
  readonly log: RunEventLog;
  readonly bus: GatewayBus;
  readonly files: UserFiles;
  /** Where they lie. */
  readonly volume: Pick<SharedVolume, 'ensureIfPresent'>;
  readonly conversions: ConversionStore;
  readonly locks: Locks;
  readonly erasures: Erasures;
  readonly memories: MemoryStore;
  readonly agents: AgentStore;
  readonly converter: DocumentConverter;
  /** Models for calls of the gateway's own; they pass the gate. */
  readonly models: ModelCatalog;
  readonly chains: ChainCatalog;
  readonly skills: SkillParts;
  readonly signIn: SignInParts;
  readonly passwords: Passwords;
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
  { provide: VOLUME, useValue: parts.volume },
  { provide: CONVERSIONS, useValue: parts.conversions },
  { provide: ERASURES, useValue: parts.erasures },
  { provide: LOCKS, useValue: parts.locks },
  { provide: MEMORIES, useValue: parts.memories },
  { provide: AGENTS, useValue: parts.agents },
  { provide: CONVERTER, useValue: parts.converter },
  { provide: MODELS, useValue: parts.models },
  { provide: CHAINS, useValue: parts.chains },
  { provide: SKILL_CATALOG, useValue: parts.skills.catalog },
  { provide: SKILL_FILES, useValue: parts.skills.files },
  { provide: SKILL_STORE, useValue: parts.skills.store },
  { provide: ACCOUNTS, useValue: parts.signIn.accounts },
  { provide: ATTEMPTS, useValue: parts.signIn.attempts },
  { provide: PASSWORDS, useValue: parts.passwords },
  { provide: DOCUMENTS, useValue: parts.documents },
  { provide: EXTENSIONS_FILE, useValue: parts.extensions },
  { provide: SETTINGS, useValue: parts.settings },
  { provide: METRICS, useValue: parts.metrics },
  { provide: TRACING, useValue: parts.tracing },
  { provide: LOGGER, useValue: parts.logger },
];
