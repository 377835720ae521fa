import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FileNode, TreeStore } from '@caribou/core';
import { inParallel } from '../in-parallel.js';
import type { CopyEntry } from '../local/copy-index.js';
import type { LocalTree } from '../local/local-tree.js';
import { isObstructed, type LocalWriter } from '../local/local-writer.js';
import { NEW_DIRECTORY, parentOf } from '../tree/tree-nodes.js';
import { fetchFiles, type WantedFile } from './fetch-files.js';
import { localHash } from '../local/local-source.js';
import type { RefreshPlan } from './refresh-plan.js';

const STEPS_PER_TURN = 32;
const MAX_COMPARED = 4;
/** Bytes of a streamed file that are written before others get a turn. */
const TURN_BYTES = 1024 * 1024;

/** Carries out the plan of a refresh. What a running command gets in the way of is left as it is, and noted. */
export class RefreshRun {
  readonly entries = new Map<string, CopyEntry>();
  readonly removed: string[] = [];
  /** Paths that could not be made equal to the head, as a command changed something there meanwhile. */
  readonly obstructed = new Set<string>();
  files = 0;
  bytes = 0;
  private steps = 0;

  constructor(
    private readonly parts: { readonly local: LocalTree; readonly writer: LocalWriter; readonly store: TreeStore },
    private readonly plan: RefreshPlan,
    /** Whether a directory in the way is moved out with all that is in it, and not left for what is in it. */
    private readonly isForced: boolean,
  ) {}

  /** @throws {UnavailableError} when contents cannot be read; a later refresh completes what was begun */
  async run(): Promise<void> {
    const { removals, directories, links, touched } = this.plan;
    for (const [path, kind] of removals) await this.step(path, () => this.remove(path, kind));
    const { writer } = this.parts;
    for (const [path, node] of directories) await this.step(path, () => this.note(path, writer.directory(path, node)));
    for (const [path, node] of links) await this.step(path, () => this.note(path, writer.link(path, node)));
    const fetched = [...this.plan.fetched];
    for (const [path, node] of touched) await this.step(path, () => this.touch(path, node, fetched));
    await inParallel(this.plan.compared, MAX_COMPARED, async ([path, node]) => {
      const isEqual = (await localHash(this.parts.local, path, node.size)) === node.sha256;
      if (isEqual) await this.step(path, () => this.touch(path, node, fetched));
      else fetched.push([path, node]);
    });
    await fetchFiles(this.parts.store, fetched, { take: (path, node, bytes) => this.take(path, node, bytes) });
  }

  private remove(path: string, kind: Parameters<LocalWriter['remove']>[1]): void {
    const { writer } = this.parts;
    if (parentOf(path) === undefined) this.note(path, writer.directory(path, NEW_DIRECTORY));
    const isGone = parentOf(path) === undefined || writer.remove(path, kind) || (this.isForced && writer.moveOut(path));
    if (isGone) this.removed.push(path);
    else this.obstructed.add(path);
  }

  private touch(path: string, node: FileNode, fetched: WantedFile[]): void {
    const entry = this.parts.writer.touch(path, node);
    if (entry === undefined) fetched.push([path, node]);
    else this.note(path, entry);
  }

  private async take(path: string, node: FileNode, bytes: AsyncIterable<Uint8Array> | Uint8Array): Promise<void> {
    const staged = this.parts.writer.stage();
    try {
      if (bytes instanceof Uint8Array) staged.write(bytes);
      else {
        let written = 0;
        for await (const chunk of bytes) {
          staged.write(chunk);
          written += chunk.byteLength;
          if (written % TURN_BYTES < chunk.byteLength) await nextTurn();
        }
      }
    } catch (error) {
      staged.discard();
      throw error;
    }
    await this.step(path, () => this.note(path, this.parts.writer.place(staged, path, node)));
    this.files += 1;
    this.bytes += node.size;
  }

  private note(path: string, entry: CopyEntry): void {
    this.entries.set(path, entry);
  }

  /** Does one step for a path; others get a turn after some. */
  private async step(path: string, act: () => void): Promise<void> {
    this.steps += 1;
    if (this.steps % STEPS_PER_TURN === 0) await nextTurn();
    try {
      act();
    } catch (error) {
      if (!isObstructed(error)) throw error;
      this.obstructed.add(path);
    }
  }
}
