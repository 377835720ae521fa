import { readFile, stat } from 'node:fs/promises';
import type { Logger } from '@caribou/core';
import { z } from 'zod';
import { isMissing } from './skill-tree.js';

const File = z.object({ skills: z.record(z.string(), z.object({ enabled: z.boolean().default(true) })).default({}) });

export type Switches = ReadonlyMap<string, boolean>;

interface Read {
  readonly version: string;
  readonly switches: Switches;
}

/**
 * Which skills the operator switched on or off for those who did not say otherwise: `skills.<name>.enabled` of
 * extensions_config.json. The file is read again once it has changed; one that cannot be read changes nothing.
 */
export class OperatorSwitches {
  private last: Read = { version: '', switches: new Map() };

  constructor(
    private readonly path: string,
    private readonly logger: Logger,
  ) {}

  async read(): Promise<Switches> {
    const version = await this.version();
    if (version !== this.last.version) this.last = { version, switches: await this.parse(version) };
    return this.last.switches;
  }

  /** Empty for a file that is not there. */
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
      // Neither its text nor a parser's excerpt of it: the file holds keys of servers.
      const reason = error instanceof z.ZodError ? faultOf(error) : 'it cannot be read as JSON';
      this.logger.error({ event: 'extensions.read', path: this.path, reason }, 'switches of skills stay as they were');
      return this.last.switches;
    }
  }
}

const faultOf = ({ issues }: z.ZodError): string => {
  const [first] = issues;
  return first === undefined ? 'invalid' : `${first.path.map(String).join('.')}: ${first.message}`;
};
