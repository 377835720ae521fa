import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const repository = join(__dirname, '..', '..', '..');
const TIMEOUT_MS = 60_000;
/** The version whose API the chart is rendered for, so that a newer helm renders the same. */
const KUBERNETES = '1.34.0';
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;

/** Path in the repository of the chart, of examples of values and of their renders. */
export const inHelm = (...path: readonly string[]): string => join(repository, 'deploy', 'helm', ...path);

/** Path of the program helm: of PATH, or the one that tools/launcher/machine/helm.mjs has built; undefined without one. */
export function findHelm(): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), join(repository, '.caribou', 'servers', 'helm')];
  return folders.map((folder) => join(folder, 'helm')).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface RenderRequest {
  readonly release?: string;
  readonly namespace?: string;
  /** Absolute paths of files of values; later ones take precedence. */
  readonly files?: readonly string[];
  /** Arguments of `--set-json`, such as `gateway.replicas=0`. */
  readonly sets?: readonly string[];
  /** Path of the kubeconfig of a cluster, which the chart then asks; default: it asks none. */
  readonly cluster?: string;
}

export type Rendered = { readonly text: string } | { readonly refusal: string };

/** Renders the chart; what helm says on its standard error is the refusal. @throws {Error} when helm gives no answer in time */
export function renderChart(
  helm: string,
  { release = 'caribou', namespace = 'caribou', files = [], sets = [], cluster }: RenderRequest,
): Promise<Rendered> {
  const of = [
    '--kube-version',
    KUBERNETES,
    ...(cluster === undefined ? [] : ['--dry-run=server', '--kubeconfig', cluster]),
  ];
  const args = ['template', release, inHelm('caribou'), '--namespace', namespace, ...of];
  const values = [...files.flatMap((file) => ['--values', file]), ...sets.flatMap((set) => ['--set-json', set])];
  const options = { encoding: 'utf8', timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES } as const;
  return new Promise((resolve, reject) => {
    execFile(helm, [...args, ...values], options, (error, stdout, stderr) => {
      if (error === null) resolve({ text: stdout });
      else if (typeof error.code === 'number') resolve({ refusal: stderr });
      else reject(new Error('helm could not be run, or gave no answer in time', { cause: error }));
    });
  });
}
