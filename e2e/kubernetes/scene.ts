import { startProxy, startScriptedMcp } from '@caribou/testing';
import { startDemoModel } from '../../tools/demo-model/server.js';
import type { ProviderCall } from '../chaos/history.js';
import { payTool } from '../chaos/pay-tool.js';
import { providerCallOf } from '../chaos/provider-calls.js';
import type { Gateway } from '../chaos/retrying-client.js';
import { type Installation, install, serviceAddress } from './installation.js';
import { Kubectl } from './kubectl.js';
import type { ClusterSettings } from './settings.js';

const CACHED_SHARE = 0.5;
const GATEWAY_PORT = 2026;

/** The installed product, and the servers of this test that it calls. */
export interface ClusterScene {
  readonly kubectl: Kubectl;
  readonly installation: Installation;
  /** The Service in front of the gateways: one of them answers. */
  readonly gateway: Gateway;
  readonly paid: readonly string[];
  readonly answered: readonly ProviderCall[];
  close(): Promise<void>;
}

/** Starts the scripted model and the tool with an effect, and installs the product. */
export async function setClusterScene(settings: ClusterSettings): Promise<ClusterScene> {
  const paid: string[] = [];
  const answered: ProviderCall[] = [];
  const model = await startDemoModel({
    host: settings.host,
    cachedShare: CACHED_SHARE,
    onAnswered: (request, tokens) => void answered.push(providerCallOf(request, tokens)),
  });
  const mcp = await startScriptedMcp({ tools: { pay: payTool(paid) } });
  const door = await startProxy({ target: mcp.port, host: settings.host });
  const close = async (): Promise<void> => {
    await Promise.all([model.close(), door.stop(), mcp.close()]);
  };
  try {
    const kubectl = new Kubectl(settings.kubectl, settings.kubeconfig);
    const mcpUrl = `http://${settings.host}:${door.port}/mcp`;
    const own = { modelUrl: model.baseUrl, mcpUrl, ports: [model.port, door.port] };
    const installation = await install(kubectl, settings, own);
    const host = await serviceAddress(kubectl, 'gateway');
    const gateway = { host, healthPort: GATEWAY_PORT, running: true };
    return { kubectl, installation, gateway, paid, answered, close };
  } catch (error) {
    await close();
    throw error;
  }
}
