import type { SandboxPort, SandboxScope } from '@caribou/core';

/** Calls of a sandbox; the arguments say of which one. */
export interface SandboxCalls<Which extends readonly unknown[] = []> {
  /** `true`. */
  exec(...which: Which): Promise<void>;
  /** 1 MiB in one request, other bytes each time. */
  write(...which: Which): Promise<void>;
  /** The same in replies of 256 KiB. */
  read(...which: Which): Promise<void>;
}

export interface CallParts<Which extends readonly unknown[]> {
  readonly sandbox: SandboxPort;
  readonly scopeOf: (...which: Which) => SandboxScope | Promise<SandboxScope>;
  readonly newId: () => string;
}

/** Of each call, in milliseconds. */
export const CALL_TIMEOUT_MS = 60_000;
const FILE = '/mnt/user-data/workspace/megabyte';
const LINE = `${'x'.repeat(63)}\n`;
const LINES = 16_384;
const LINES_PER_READ = 4_096;

/** Each call throws when its outcome is another one than success. */
export function sandboxCalls<Which extends readonly unknown[]>({
  sandbox,
  scopeOf,
  newId,
}: CallParts<Which>): SandboxCalls<Which> {
  let writes = 0;
  const inTime = (): AbortSignal => AbortSignal.timeout(CALL_TIMEOUT_MS);
  const expect = (what: string, { outcome }: { readonly outcome: string }, wanted: string): void => {
    if (outcome !== wanted) throw new Error(`${what} answered ${outcome}`);
  };
  return {
    exec: async (...which) => {
      const request = { key: newId(), command: 'true', timeout_ms: CALL_TIMEOUT_MS, max_output_bytes: 1_024 };
      expect('exec', await sandbox.exec(await scopeOf(...which), request, inTime()), 'done');
    },
    write: async (...which) => {
      const first = `${String((writes += 1)).padStart(LINE.length - 1)}\n`;
      const request = { key: newId(), path: FILE, content: first + LINE.repeat(LINES - 1), append: false };
      expect('write', await sandbox.write(await scopeOf(...which), request, inTime()), 'ok');
    },
    read: async (...which) => {
      const scope = await scopeOf(...which);
      for (let first = 1; first < LINES; first += LINES_PER_READ) {
        const range = { start_line: first, end_line: first + LINES_PER_READ - 1, max_bytes: 256 * 1024 };
        expect('read', await sandbox.read(scope, { path: FILE, ...range }, inTime()), 'ok');
      }
    },
  };
}
