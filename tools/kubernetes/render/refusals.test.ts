import { findHelm, inHelm, renderChart } from './helm.js';
import { valuesFile } from './value-sets.js';

const helm = findHelm();
if (helm === undefined)
  console.warn('skipped: what the chart refuses (no program helm; node tools/launcher/helm.mjs builds it)');
const withHelm = helm === undefined ? describe.skip : describe;

/** What helm says about an example with some values changed; undefined when it renders. */
async function refusalOf(
  set: 'production' | 'trial',
  sets: readonly string[],
  namespace = 'caribou',
): Promise<string | undefined> {
  const rendered = await renderChart(helm ?? '', { files: [valuesFile(set)], sets, namespace });
  return 'refusal' in rendered ? rendered.refusal : undefined;
}

withHelm('the chart refuses', () => {
  test.each<[string, string[], string]>([
    [
      'a missing Secret',
      ['agentRunner.existingSecret=""'],
      'agentRunner.existingSecret: is missing; name a Secret that has NATS_URL',
    ],
    [
      'a Secret of yours and values at once',
      ['gateway.secretValues={"A":"b"}'],
      'gateway.secretValues: cannot be set together with gateway.existingSecret',
    ],
    [
      'two addresses of Redis',
      ['redis.url="redis://a:6379,redis://b:6379"'],
      'redis.url: must be the address of one server',
    ],
    [
      'a server of yours and a trial one',
      ['redis.url="redis://a:6379"', 'redis.trial={"enabled":true,"password":"aaaaaaaaaaaaaaaa"}'],
      'redis.url: cannot be set together with redis.trial.enabled',
    ],
    [
      'an address in the values and one in the Secret',
      ['redis.url="redis://a:6379"', 'gateway.secretVariables=["CARIBOU_API_KEYS","REDIS_URL"]'],
      'gateway: REDIS_URL is a second address besides redis.url',
    ],
    ['a password in an address', ['redis.url="redis://:secret@a:6379"'], 'redis.url: must have no user and password'],
    [
      'TLS to an address without it',
      ['redis.url="redis://a:6379"', 'redis.tls.existingSecret="tls"'],
      'redis.url: must begin with rediss://',
    ],
    [
      'a certificate without its key',
      ['nats.tls={"existingSecret":"tls","cert":"tls.crt"}'],
      'nats.tls.cert: a certificate and its key',
    ],
    [
      'a drain longer than the time before SIGKILL',
      ['agentRunner.drainSeconds=60'],
      'agentRunner.terminationGracePeriodSeconds: must be at least 70',
    ],
    [
      'a drain of sandbox-managers shorter than a command',
      ['sandboxManager.drainSeconds=60'],
      'sandboxManager.drainSeconds: must be at least 630',
    ],
    ['no store of files', ['files.s3.bucket=""'], 'files.s3.bucket: name a bucket'],
    [
      'two stores of files',
      ['files.folder.enabled=true'],
      'files.folder.enabled: cannot be set together with files.s3.bucket',
    ],
    [
      'an API that nobody may use',
      ['config.auth.enabled=false', 'gateway.secretVariables=[]'],
      'gateway.allowUnauthenticated: nobody could use the API',
    ],
    ['no model', ['config.models=[]'], 'config.models: is empty'],
    [
      'a key of a model at sandbox-managers',
      ['sandboxManager.secretVariables=["OPENAI_API_KEY"]'],
      'sandboxManager: must not have OPENAI_API_KEY',
    ],
    [
      'a secret of another name at sandbox-managers',
      ['sandboxManager.secretVariables=["MODEL_KEY"]'],
      'sandboxManager: must not have MODEL_KEY',
    ],
    [
      'a key of a model at sandbox-managers, as a variable',
      ['sandboxManager.extraEnv=[{"name":"TAVILY_API_KEY","value":"x"}]'],
      'sandboxManager.extraEnv: must not have TAVILY_API_KEY',
    ],
    [
      'a variable that the chart sets',
      ['gateway.extraEnv=[{"name":"PORT","value":"80"}]'],
      'gateway.extraEnv: PORT is set by the chart',
    ],
    ['settings that other values decide', ['config.sandbox={"driver":"docker"}'], 'config.sandbox.driver: is not used'],
    ['files in config', ['config.files={"store":{}}'], 'config.files: is not used; set files.s3 or files.folder'],
    ['a drain in config', ['config.clocks={"drain_ms":1}'], 'config.clocks.drain_ms: is not used; set drainSeconds'],
    [
      'a namespace of sandboxes in config',
      ['config.sandbox={"kubernetes":{"namespace":"x"}}'],
      'config.sandbox.kubernetes.namespace: is not used',
    ],
    [
      'policies off while they are required',
      ['networkPolicies.enabled=false'],
      'networkPolicies.enabled: must be true',
    ],
    [
      'one port for agent and proxy',
      ['sandboxes.proxyPort=7777'],
      'sandboxes.proxyPort: must not be sandboxes.agentPort',
    ],
    ['an Ingress without a host', ['ingress.hosts=[]'], 'ingress.hosts: name at least one host'],
    [
      'most pods below fewest',
      ['gateway.autoscaling={"enabled":true,"minReplicas":5,"maxReplicas":2}'],
      'gateway.autoscaling.maxReplicas: must be at least',
    ],
    [
      'scaling without Prometheus',
      ['agentRunner.autoscaling.enabled=true'],
      'agentRunner.autoscaling.enabled: needs keda.prometheusAddress',
    ],
    [
      'monitors without the key of gateways',
      ['monitoring.podMonitor.gatewayKeySecret=""'],
      'monitoring.podMonitor.gatewayKeySecret: name the Secret',
    ],
    [
      'monitors that policies keep out',
      ['networkPolicies.monitoringFrom=[]'],
      'networkPolicies.monitoringFrom: name the peers',
    ],
  ])('%s', async (_what, sets, sentence) => {
    expect(await refusalOf('production', sets)).toContain(sentence);
  });

  test.each<[string, string[], string]>([
    [
      'a short password of a trial server',
      ['nats.trial.password="short"'],
      'nats.trial.password: must have at least 16',
    ],
    ['several copies on one server', ['nats.replicas=3'], 'nats.replicas: must be 1 with nats.trial.enabled'],
    [
      'several sandbox-managers on a volume for one node',
      ['sandboxManager.replicas=2'],
      'sandboxManager.replicas: must be 1',
    ],
    ['several gateways on a volume for one node', ['gateway.replicas=2'], 'gateway.replicas: must be 1'],
    [
      'a trial without the key of its model',
      ['memoryWorker.secretValues=null'],
      'memoryWorker.existingSecret: is missing; name a Secret that has OPENAI_API_KEY',
    ],
  ])('%s', async (_what, sets, sentence) => {
    expect(await refusalOf('trial', sets)).toContain(sentence);
  });

  test('the namespace of the release for sandboxes', async () => {
    expect(await refusalOf('production', [], 'caribou-sandboxes')).toContain(
      'sandboxes.namespace: must not be the namespace',
    );
  });

  test.each<[string, string, RegExp]>([
    ['no pods', 'gateway.replicas=0', /gateway.?replicas/],
    ['a value that does not exist', 'gateway.replica=2', /gateway.*replica/s],
    ['an unknown part', 'gatway={}', /gatway/],
    ['a container without limits', 'agentRunner.resources.limits=null', /agentRunner.?resources/],
    ['root', 'services.uid=0', /services.?uid/],
    ['a quantity with another unit', 'gateway.homeSize="4GB"', /gateway.?homeSize/],
    ['an address of another kind', 'redis.url="http://a"', /redis.?url/],
    ['a level of logs that does not exist', 'logLevel="loud"', /logLevel/],
    ['a port out of range', 'sandboxes.agentPort=70000', /sandboxes.?agentPort/],
    ['a name that is none', 'sandboxes.namespace="A_B"', /sandboxes.?namespace/],
  ])('by its schema: %s', async (_what, set, value) => {
    const refusal = (await refusalOf('production', [set])) ?? '';
    expect(refusal).toMatch(/values don't meet the specifications/);
    expect(refusal).toMatch(value);
  });

  test('every fault at once', async () => {
    const refusal = await refusalOf('production', ['files.s3.bucket=""', 'ingress.hosts=[]']);
    expect(refusal).toContain('files.s3.bucket');
    expect(refusal).toContain('ingress.hosts');
  });

  test('nothing at all: the defaults name what they need', async () => {
    const rendered = await renderChart(helm ?? '', { files: [inHelm('caribou', 'values.yaml')] });
    const refusal = 'refusal' in rendered ? rendered.refusal : '';
    for (const value of [
      'gateway.existingSecret',
      'files.s3.bucket',
      'config.models',
      'gateway.allowUnauthenticated',
    ]) {
      expect(refusal).toContain(value);
    }
  });
});
