import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { z } from 'zod';
import type { KubernetesObject } from '../render/objects.js';
import { customSchemas } from './custom-schemas.js';

const GROUP_KIND = 'x-kubernetes-group-version-kind';

const Definition = z.looseObject({
  [GROUP_KIND]: z.array(z.object({ group: z.string(), version: z.string(), kind: z.string() })).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
});
const Definitions = z.looseObject({ $defs: z.record(z.string(), Definition) });

/** Kinds of operators, as `<apiVersion>/<kind>`, whose schemas are our own: of the fields that the chart uses. */
export const CUSTOM_KINDS: readonly string[] = Object.keys(customSchemas);

/**
 * Opens a check of objects against the schemas of their kinds, in which no unknown field is allowed. It returns a fault for each
 * field that is wrong, and one for a kind that is not known.
 *
 * @param text the definitions that kubernetes-validate ships
 */
export function openSchemas(text: string): (object: KubernetesObject) => string[] {
  const { $defs } = Definitions.parse(JSON.parse(text));
  const names = new Map<string, string>();
  for (const [name, definition] of Object.entries($defs)) {
    if (definition.properties !== undefined) definition['additionalProperties'] = false;
    for (const { group, version, kind } of definition[GROUP_KIND] ?? [])
      names.set(`${group === '' ? '' : `${group}/`}${version}/${kind}`, name);
  }
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema({ $id: 'kubernetes', $defs });
  const compiled = new Map<string, ValidateFunction>();
  const validatorOf = (type: string): ValidateFunction | undefined => {
    const known = compiled.get(type);
    if (known !== undefined) return known;
    const name = names.get(type);
    const schema = customSchemas[type] ?? (name === undefined ? undefined : { $ref: `kubernetes#/$defs/${name}` });
    if (schema === undefined) return undefined;
    const validate = ajv.compile(schema);
    compiled.set(type, validate);
    return validate;
  };
  return (object) => {
    const type = `${object.apiVersion}/${object.kind}`;
    const validate = validatorOf(type);
    if (validate === undefined) return [`${type} is no kind of the API`];
    if (validate(withoutDefaults(object))) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [instancePath, message, JSON.stringify(params)].join(' '),
    );
  };
}

/** The parser of objects adds empty maps of labels and annotations, which are right anyhow. */
const withoutDefaults = (object: KubernetesObject): unknown => JSON.parse(JSON.stringify(object));
