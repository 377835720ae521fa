import { readFile, stat } from 'node:fs/promises';
import type { Logger } from '@caribou/core';
import { z } from 'zod';
import { isMissing } from './skill-tree.js';

const File = z.object({ skills: z.record(z.string(), z.object({ enabled: z.boolean().default(true) })).default({}) });

export type Switches = ReadonlyMap<string, boolean>;

interface VersionedSwitches {
  readonly version: string;
  readonly switches: Switches;
}

/**
 * Skills that the operator switched on or off, as a default for users: `skills.<name>.enabled` of extensions_config.json.
 * The file is read again after each change; an invalid one changes nothing.
 */
export class OperatorSwitches {
  private last: VersionedSwitches = { version: '', switches: new Map() };

  constructor(
    private readonly path: string,
    private readonly logger: Logger,
  ) {}

  async read(): Promise<Switches> {
    const version = await this.version();
    if (version !== this.last.version) this.last = { version, switches: await this.parse(version) };
    return this.last.switches;
  }

  /** Returns size, time and inode as a version; '' when there is no file. */
  private async version(): Promise<string> {
    try {
      const { size, mtimeMs, ino } = await stat(this.path);
      return [size, mtimeMs, ino].join(' ');
    } catch (error) {
      return isMissing(error) ? '' : 'unreadable';
    }
  }

  private async parse(version: string): Promise<Switches> {
    if (version === '') return new Map();
    try {
      const { skills } = File.parse(JSON.parse(await readFile(this.path, 'utf8')));
      return new Map(Object.entries(skills).map(([name, { enabled }]) => [name, enabled]));
    } catch (error) {
      // The parser's message quotes the file, which may hold API keys, so it is not logged.
      const reason = error instanceof z.ZodError ? faultOf(error) : 'it cannot be read as JSON';
      this.logger.error(
        { event: 'extensions.read', path: this.path, reason },
        'the switches of skills could not be read and do not change',
      );
      return this.last.switches;
    }
  }
}

const faultOf = ({ issues }: z.ZodError): string => {
  const [first] = issues;
  return first === undefined ? 'invalid' : `${first.path.map(String).join('.')}: ${first.message}`;
};
