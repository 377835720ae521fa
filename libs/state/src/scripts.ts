import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A Lua command as Redis gets it. */
export interface Script {
  readonly source: string;
  readonly sha1: string;
  /** Whether it may write; one that does not needs no right to write its keys. */
  readonly writes: boolean;
}

const folder = join(__dirname, 'commands');
const include = /^-- @include ([a-z-]+)\.lua$/gm;

/**
 * Reads `commands/<name>.lua`. A line `-- @include fence.lua` stands for the text of that file; a file is included
 * once, where it is first named.
 */
export function loadScript(name: string): Script {
  const source = expand(name, new Set());
  const writes = !/^#!lua .*flags=\S*no-writes/.test(source);
  return { source, sha1: createHash('sha1').update(source).digest('hex'), writes };
}

function expand(name: string, seen: Set<string>): string {
  seen.add(name);
  return readFileSync(join(folder, `${name}.lua`), 'utf8').replace(include, (_line, part: string) =>
    seen.has(part) ? '' : expand(part, seen),
  );
}
