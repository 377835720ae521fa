import { execFile } from 'node:child_process';

/** A command that failed; the message has the end of its output. */
export class CommandError extends Error {}

export interface CommandOptions {
  readonly input?: string;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Runs a program to its end. @throws CommandError when it fails or takes too long */
export function command(file: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { input, timeoutMs = TIMEOUT_MS } = options;
  return new Promise((resolve, reject) => {
    const child = execFile(
      file,
      args,
      { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else
          reject(
            new CommandError(`${file} ${args.join(' ').slice(0, 300)} failed: ${stderr.slice(-2_000)}`, {
              cause: error,
            }),
          );
      },
    );
    child.stdin?.on('error', () => undefined); // A program that has ended early is reported by its exit code.
    child.stdin?.end(input ?? '');
  });
}

/** An object of the API, with what the scenario reads of it. */
export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
}

export interface PodObject extends ApiObject {
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** kubectl on one cluster. */
export class Kubectl {
  constructor(
    private readonly program: string,
    readonly kubeconfig: string,
  ) {}

  run(args: readonly string[], options: CommandOptions = {}): Promise<string> {
    return command(this.program, ['--kubeconfig', this.kubeconfig, ...args], options);
  }

  async apply(objects: readonly object[]): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    await this.run(['apply', '-f', '-'], { input: JSON.stringify(list) });
  }

  /** The objects that the arguments of `kubectl get` name. */
  async list<T extends ApiObject = ApiObject>(args: readonly string[]): Promise<readonly T[]> {
    const { items } = JSON.parse(await this.run(['get', ...args, '-o', 'json'])) as { readonly items: readonly T[] };
    return items;
  }

  pods(namespace: string, selector: string): Promise<readonly PodObject[]> {
    return this.list<PodObject>(['pods', '-n', namespace, '-l', selector]);
  }
}

export const isReady = ({ metadata, status }: PodObject): boolean =>
  metadata.deletionTimestamp === undefined &&
  status.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') === true;
