import type { z } from 'zod';
import { type CamelKeys, camelKeys } from '../common/camel-keys.js';
import { SandboxFile } from '../schema/file-schema.js';

type Section = z.output<typeof SandboxFile>;

/** The section `sandbox` with camelCase keys. */
export type SandboxConfig = CamelKeys<Omit<Section, 'limits' | 'network'>> & {
  readonly limits: CamelKeys<Section['limits']>;
  /** Sandboxes have no network as long as no host is allowed. */
  readonly network: CamelKeys<Section['network']>;
};

export const toSandbox = ({ limits, network, ...section }: Section): SandboxConfig => ({
  ...camelKeys(section),
  limits: camelKeys(limits),
  network: camelKeys(network),
});

/** The defaults of the section. */
export const defaultSandboxConfig = (): SandboxConfig => toSandbox(SandboxFile.parse({}));
