import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';

const repository = join(__dirname, '..', '..', '..', '..');
/** Where `npm test` installs the schemas of kubernetes-validate; see tools/launcher/machine/kubernetes-schemas.mjs. */
const DEFINITIONS = join(repository, '.caribou', 'servers', 'kubernetes-schemas', '_definitions.json');

/** Why pods cannot be checked against the schema of Kubernetes, or null. */
export const missingForPodSchema = (): string | null =>
  existsSync(DEFINITIONS) ? null : 'the schemas of Kubernetes are not installed: npm test installs them where PyPI is';

type Schema = Record<string, unknown>;

/**
 * A check of pods against the schema of Kubernetes, in which no unknown field is allowed. It throws an error that names
 * the fields.
 */
export function openPodSchema(): (pod: unknown) => void {
  const { $defs } = JSON.parse(readFileSync(DEFINITIONS, 'utf8')) as { $defs: Record<string, Schema> };
  for (const schema of Object.values($defs))
    if (schema['properties'] !== undefined) schema['additionalProperties'] = false;
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  const validate = ajv.compile({ $defs, $ref: '#/$defs/io.k8s.api.core.v1.Pod' });
  return (pod) => {
    if (validate(pod)) return;
    const faults = (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
    throw new Error(faults.join('; '));
  };
}
