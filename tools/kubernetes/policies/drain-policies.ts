import { parse } from 'yaml';
import { z } from 'zod';
import { ofKind, workloadsOf } from '../render/objects.js';
import type { Policy } from './pod-policies.js';

/** Seconds in which a process exits after its drain, and its logs are written. */
const EXIT_SECONDS = 10;

const ConfigFile = z.looseObject({ clocks: z.looseObject({ drain_ms: z.number() }) });

/** The pause before SIGTERM, the drain of the service's config.yaml and the exit fit into the time before SIGKILL. */
const stopsHaveTime: Policy = (objects) => {
  const files = new Map(
    ofKind(objects, 'ConfigMap').map(({ metadata, data }) => [
      metadata.name,
      z.record(z.string(), z.string()).parse(data)['config.yaml'],
    ]),
  );
  return workloadsOf(objects)
    .filter(({ object }) => object.kind === 'Deployment')
    .flatMap(({ title, pod, containers }) => {
      const name = pod.volumes.find(({ configMap }) => files.get(configMap?.name ?? '') !== undefined)?.configMap?.name;
      const { clocks } = ConfigFile.parse(parse(files.get(name ?? '') ?? ''));
      const pauseSeconds = containers[0]?.lifecycle?.preStop.sleep?.seconds ?? 0;
      const needed = pauseSeconds + clocks.drain_ms / 1000 + EXIT_SECONDS;
      const { terminationGracePeriodSeconds: given } = pod;
      return given >= needed ? [] : [`${title}: has ${given} s for a stop that may take ${needed} s`];
    });
};

/** Policies about stops, by what they hold. */
export const drainPolicies: Readonly<Record<string, Policy>> = { 'a stop has time enough': stopsHaveTime };
