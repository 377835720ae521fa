import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServiceName, serviceNames } from '@caribou/contracts';
import { type TestService, waitFor } from '@caribou/testing';
import { writeAskingModule } from '../support/asking-tool.js';
import { TwoGateways } from '../protocol/two-gateways.js';
import { type AppName, clientOf, nth, type Stack, startStack } from '../support/stack.js';
import type { ApiClient } from '../support/client.js';
import { Bank } from './bank.js';
import { HeldCalls, HOLD_CONFIG } from './held-calls.js';

const configOf = ({ port }: Bank): string => `approvals:
  allowed_decisions: [approve, edit, reject, respond]
  rules: [{id: bank, tools: ["bank_*"], message: moves money}]
command_rules:
  rules: [{id: tees, verdict: ask, match: {commands: [tee]}, message: writes on}]
mcp:
  api_hosts: ["127.0.0.1:${port}"]
loop_detection: {enabled: false}
title: {enabled: false}
tools: [{name: ask_first, use: "./asking.mjs#askFirst"}]
${HOLD_CONFIG}`;

/** Every service of the product, gateways two times, with what the decided calls have their effects on. */
export class DecisionSystem {
  readonly gateways: TwoGateways;
  readonly held: HeldCalls;
  /** The process of each service; of gateways the one that clients are sent to. */
  private readonly services = new Map<ServiceName, TestService>();
  private replacing: Promise<unknown>[] = [];

  private constructor(
    readonly stack: Stack,
    readonly bank: Bank,
    private readonly folder: string,
  ) {
    this.gateways = new TwoGateways(stack);
    this.held = new HeldCalls(stack.homeDir);
  }

  static async start(): Promise<DecisionSystem> {
    const folder = mkdtempSync(join(tmpdir(), 'caribou-e2e-decisions-'));
    const bank = new Bank();
    await bank.start();
    const extensions = join(folder, 'extensions_config.json');
    writeFileSync(extensions, JSON.stringify({ mcpServers: { bank: { type: 'http', url: bank.url } } }));
    const stack = await startStack({
      ...{ gateways: 0, runners: 0, managers: 0, config: configOf(bank) },
      env: { CARIBOU_EXTENSIONS_CONFIG: extensions },
    });
    const system = new DecisionSystem(stack, bank, folder);
    await Promise.all([system.held.install(), writeAskingModule(stack.homeDir)]);
    const started = await Promise.all(
      [...serviceNames, 'gateway' as const].map(async (name) => [name, await stack.start(name)] as const),
    );
    for (const [name, service] of started) {
      if (name === 'gateway') stack.gateways.push(service);
      else system.services.set(name, service);
    }
    await waitFor(
      async () => (await Promise.all(started.map(([, service]) => service.ready()))).every(({ ok }) => ok),
      { what: 'all services to be ready', timeoutMs: 60_000 },
    );
    return system;
  }

  async stop(): Promise<void> {
    await Promise.allSettled(this.replacing);
    this.held.release();
    this.releaseResults();
    await this.stack.stop();
    await this.bank.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A client of the gateway that requests go to at present. */
  get client(): ApiClient {
    return clientOf(nth(this.stack.gateways, this.gateways.current));
  }

  /** Lines that the tool `ask_first` has written, which are what it does. */
  get effectsOfAskingTool(): readonly string[] {
    const file = join(this.stack.homeDir, 'effects');
    return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  }

  /** From now on payments and the tool `ask_first` have their effect and get no further. */
  holdResults(): void {
    this.bank.holdAnswers();
    rmSync(join(this.stack.homeDir, 'gate'), { force: true });
  }

  releaseResults(): void {
    this.bank.releaseAnswers();
    writeFileSync(join(this.stack.homeDir, 'gate'), '');
  }

  pidOf(name: ServiceName): number {
    return this.serviceOf(name).pid;
  }

  /** Stops a service's process from doing anything; it is killed next. */
  pause(name: ServiceName): void {
    this.serviceOf(name).pause();
  }

  /** Kills the process of a service; the one in its place is started meanwhile, see `replaced`. */
  async kill9(name: AppName): Promise<void> {
    if (name === 'gateway') return await this.killGateway();
    await this.serviceOf(name).kill9();
    const starting = this.stack.start(name).then((service) => this.services.set(name, service));
    this.replacing.push(starting);
  }

  /** Resolves when there is a ready process in place of each that was killed. */
  async replaced(): Promise<void> {
    await Promise.all(this.replacing.splice(0));
    const all = [...this.services.values(), ...this.stack.gateways];
    await waitFor(async () => (await Promise.all(all.map((one) => one.ready()))).every(({ ok }) => ok), {
      what: 'the services to be ready',
      timeoutMs: 60_000,
    });
  }

  /** The gateway that clients use is killed, and they come to the other one. */
  private async killGateway(): Promise<void> {
    const victim = this.gateways.current;
    await this.gateways.killCurrent();
    const starting = this.stack.start('gateway').then((service) => (this.stack.gateways[victim] = service));
    this.replacing.push(starting);
  }

  private serviceOf(name: ServiceName): TestService {
    const service = name === 'gateway' ? this.stack.gateways[this.gateways.current] : this.services.get(name);
    if (service === undefined) throw new Error(`${name} is not started`);
    return service;
  }
}
