import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type InstalledSkill, newId } from '@caribou/contracts';
import { type Clock, silentLogger, type SkillStore, systemClock, type TreeStore } from '@caribou/core';
import { objectTreeStore } from '../plane/store/object-tree-store.js';
import { type CatalogPackage, SkillCache } from '../skills/skill-cache.js';
import type { SkillFiles } from '../skills/skill-files.js';
import { SkillImports } from '../skills/skill-imports.js';
import { SkillViews } from '../skills/skill-views.js';
import { storedSkillFiles } from '../skills/stored-skill-files.js';
import { MemoryObjects } from './memory-objects.js';

export const USER = 'Alice';
/** Sizes at which a small skill has shared objects and objects of its own. */
export const SMALL_OBJECTS = { packedBelow: 1_000, packBytes: 2_000, bufferedBytes: 4_000 };
export const CONTENT = {
  'SKILL.md': 'find me',
  'scripts/run.sh': '#!/bin/sh\n',
  'refs/über.md': 'more',
  'refs/large': 'x'.repeat(200_000),
};
const THREE_HOURS_MS = 3 * 3_600_000;

export interface ProcessOptions {
  readonly clock?: Clock;
  readonly trees?: TreeStore;
  readonly maxWaitMs?: number;
  readonly minFreeBytes?: number;
}

/** One object store, the records of one user's skills as Redis would have them, and machines. */
export class SkillFixture {
  readonly objects = new MemoryObjects();
  readonly records = new Map<string, InstalledSkill>();
  private readonly homes: string[] = [];

  /** A process with files below the home; several may have the same. */
  processAt(
    home: string,
    { clock = systemClock, maxWaitMs = 30_000, minFreeBytes = 0, ...given }: ProcessOptions = {},
  ) {
    const trees = given.trees ?? objectTreeStore(this.objects, SMALL_OBJECTS);
    const shared = { homeDir: home, trees, minFreeBytes, clock, logger: silentLogger };
    const imports = new SkillImports({ ...shared, records: this.store });
    const cache = new SkillCache({ ...shared, imports, maxWaitMs });
    const views = new SkillViews(home);
    const mount = async () => views.mount(USER, await cache.provide(USER, this.catalog()));
    return { home, imports, mount, files: storedSkillFiles({ ...shared, imports }) };
  }

  /** A process on a machine of its own. */
  machine(options?: ProcessOptions) {
    const home = mkdtempSync(join(tmpdir(), 'caribou-skill-cache-'));
    this.homes.push(home);
    return this.processAt(home, options);
  }

  /** Installs a skill with `CONTENT`, as a gateway does. */
  async install(files: Pick<SkillFiles, 'openStaging'>, name: string): Promise<InstalledSkill> {
    const id = newId();
    const staging = await files.openStaging(USER);
    let bytes = 0;
    for (const [path, text] of Object.entries(CONTENT))
      bytes += await staging.write(path.split('/'), chunks(text), { isProgram: path.endsWith('.sh') });
    const published = await staging.publish(id);
    await staging.close();
    const skill = {
      ...{ id, name, description: 'A skill.', license: null, allowed_tools: null, bytes },
      ...{ installed_at: '2026-03-14T10:00:00.000Z', ...published },
    };
    this.records.set(name, skill);
    return skill;
  }

  keysOf(prefix: string): string[] {
    return [...this.objects.objects.keys()].filter((key) => key.startsWith(prefix));
  }

  close(): void {
    for (const home of this.homes) rmSync(home, { recursive: true, force: true });
  }

  private readonly store: Pick<SkillStore, 'setManifest'> = {
    setManifest: (_user, { id, name }, manifest) => {
      const record = this.records.get(name);
      if (record?.id !== id || record.manifest !== undefined) return Promise.resolve(false);
      this.records.set(name, { ...record, manifest });
      return Promise.resolve(true);
    },
  };

  private catalog(): CatalogPackage[] {
    return Array.from(this.records.values(), ({ id, name, bytes, manifest }) => ({
      skill: { name },
      place: ['custom', name],
      source: { kind: 'installed', id, bytes, ...(manifest === undefined ? {} : { manifest }) },
    }));
  }
}

export async function* chunks(text: string): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(Buffer.from(text));
}

export const skillsAt = (home: string, ...names: readonly string[]): string =>
  join(home, 'users', USER, 'skills', ...names);

export const listed = (path: string): readonly string[] => (existsSync(path) ? readdirSync(path).sort() : []);

export const makeOld = (path: string): void => utimesSync(path, 0, (Date.now() - THREE_HOURS_MS) / 1_000);

/** The note in the place of a skill that is absent from a mount. */
export const noteOf = (directory: string, name: string): string =>
  readFileSync(join(directory, 'custom', name, 'UNAVAILABLE.md'), 'utf8');

/** What a mount has of a skill: files with their texts and modes, as `wholeSkill` has them. */
export const skillIn = (directory: string, name: string): Record<string, string> => {
  const root = join(directory, 'custom', name);
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const files = paths.filter((path) => statSync(join(root, path)).isFile());
  return Object.fromEntries(
    files.map((path) => {
      const mode = (statSync(join(root, path)).mode & 0o777).toString(8);
      return [path, `${mode} ${readFileSync(join(root, path), 'utf8')}`];
    }),
  );
};

export const wholeSkill: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(CONTENT).map(([path, text]) => [path, `${path.endsWith('.sh') ? '755' : '644'} ${text}`]),
);
