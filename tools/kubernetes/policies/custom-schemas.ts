/**
 * Schemas of the objects of KEDA and of the Prometheus operator, by `<apiVersion>/<kind>`, written from their documentation: the
 * fields that the chart uses, and no others.
 */

type Schema = Readonly<Record<string, unknown>>;

const text = { type: 'string', minLength: 1 };
const whole = { type: 'integer', minimum: 0 };
const labels = { type: 'object', additionalProperties: { type: 'string' } };

function strict(properties: Readonly<Record<string, Schema>>, required = Object.keys(properties)): Schema {
  return { type: 'object', additionalProperties: false, properties, required };
}

const list = (items: Schema): Schema => ({ type: 'array', items, minItems: 1 });

/** An object with this spec. */
const withSpec = (spec: Schema): Schema =>
  strict({
    apiVersion: text,
    kind: text,
    metadata: strict({ name: text, namespace: text, labels, annotations: labels }, ['name', 'namespace']),
    spec,
  });

const selector = strict({
  matchLabels: labels,
  matchExpressions: list(strict({ key: text, operator: text, values: list(text) })),
});

const behavior = { $ref: 'kubernetes#/$defs/io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior' };

/** The metadata of a trigger are texts. */
const trigger = {
  oneOf: [
    strict({
      type: { const: 'prometheus' },
      metricType: { const: 'AverageValue' },
      metadata: strict({
        serverAddress: text,
        query: text,
        threshold: text,
        ignoreNullValues: { enum: ['true', 'false'] },
      }),
    }),
    strict({
      type: { const: 'nats-jetstream' },
      metricType: { const: 'AverageValue' },
      metadata: strict({
        natsServerMonitoringEndpoint: text,
        account: text,
        stream: text,
        consumer: text,
        lagThreshold: text,
      }),
    }),
  ],
};

const scaledObject = strict({
  scaleTargetRef: strict({ apiVersion: text, kind: text, name: text }),
  minReplicaCount: whole,
  maxReplicaCount: whole,
  pollingInterval: whole,
  advanced: strict({ horizontalPodAutoscalerConfig: strict({ behavior }) }),
  fallback: strict({
    failureThreshold: whole,
    replicas: whole,
    behavior: { enum: ['static', 'currentReplicasIfHigher'] },
  }),
  triggers: list(trigger),
});

const endpoint = strict(
  {
    port: text,
    path: text,
    interval: { type: 'string', pattern: '^[0-9]+(ms|s|m|h)$' },
    authorization: strict({ type: text, credentials: strict({ name: text, key: text }) }),
    relabelings: list(strict({ sourceLabels: list(text), targetLabel: text, replacement: text })),
  },
  ['port', 'path', 'interval'],
);

const probe = strict({
  jobName: text,
  module: text,
  interval: text,
  prober: strict({ url: text }),
  targets: strict({ staticConfig: strict({ static: list(text) }) }),
});

const rule = strict({ alert: text, expr: text, for: text, labels, annotations: labels });

export const customSchemas: Readonly<Record<string, Schema>> = {
  'keda.sh/v1alpha1/ScaledObject': withSpec(scaledObject),
  'monitoring.coreos.com/v1/PodMonitor': withSpec(strict({ selector, podMetricsEndpoints: list(endpoint) })),
  'monitoring.coreos.com/v1/Probe': withSpec(probe),
  'monitoring.coreos.com/v1/PrometheusRule': withSpec(
    strict({ groups: list(strict({ name: text, rules: list(rule) })) }),
  ),
};
