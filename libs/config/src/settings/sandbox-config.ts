import { omitUndefined } from '@caribou/contracts';
import type { z } from 'zod';
import { type CamelKeys, camelKeys } from '../common/camel-keys.js';
import { SandboxFile } from '../schema/file-schema.js';

type Section = z.output<typeof SandboxFile>;

/** The section `sandbox` with camelCase keys. */
export type SandboxConfig = CamelKeys<Omit<Section, 'limits' | 'network' | 'kubernetes'>> & {
  readonly limits: CamelKeys<Section['limits']>;
  /** Sandboxes have no network as long as no host is allowed. */
  readonly network: CamelKeys<Section['network']>;
  /** For the driver of that name. */
  readonly kubernetes: CamelKeys<Section['kubernetes']>;
};

/** @param podIp the address of the pod that this process runs in, if any */
export const toSandbox = ({ limits, network, kubernetes, ...section }: Section, podIp?: string): SandboxConfig => ({
  ...camelKeys(section),
  limits: camelKeys(limits),
  network: camelKeys(network),
  kubernetes: { ...omitUndefined({ proxyHost: podIp }), ...camelKeys(kubernetes) },
});

/** The defaults of the section. */
export const defaultSandboxConfig = (): SandboxConfig => toSandbox(SandboxFile.parse({}));
