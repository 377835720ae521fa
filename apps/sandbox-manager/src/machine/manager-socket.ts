import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { type SandboxDriverKind, UnavailableError } from '@caribou/contracts';
import { errnoOf, KeyedMutex, type Logger } from '@caribou/core';
import { identifyFile, type ManagerRecord, type ManagerRecords, type SandboxDriver } from '@caribou/sandbox';

export interface ManagerSocketOptions {
  readonly managerId: string;
  readonly records: ManagerRecords;
  readonly logger: Logger;
}

type DriverInUse = Pick<SandboxDriver, 'kind' | 'domain'>;

/**
 * A unix socket that this process listens on until its end. The kernel closes it when the process ends, so a refused
 * connection proves that end to other managers of this machine. No data is sent over it.
 *
 *  M1  The record that names the socket exists only while the socket listens or after this process has ended.
 *  M2  Before the first sandbox of a driver is created, the record names the driver with its domain: a manager that
 *      can end the sandboxes of all these domains can end everything that this process has started.
 */
export class ManagerSocket {
  private server: Server | undefined;
  private record: ManagerRecord | undefined;
  private readonly additions = new Map<SandboxDriverKind, Promise<void>>();
  private readonly mutex = new KeyedMutex();

  constructor(private readonly options: ManagerSocketOptions) {}

  /** Opens the socket, then writes the record. Where that fails, other managers wait for this one's lease to lapse. */
  async open(): Promise<void> {
    const { managerId, records, logger } = this.options;
    try {
      const { bootId } = await records.open();
      const path = records.socketPath(managerId) ?? '';
      this.server = await listen(path);
      const record = { managerId, bootId, socket: (await identifyFile(path)) ?? '', domains: [] };
      await records.write(record);
      this.record = record;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      logger.warn(
        { event: 'manager_socket.open', outcome: 'error', error },
        'others will notice the end of this process only when its lease lapses',
      );
    }
  }

  /** (M2) Adds a driver to the record, once. @throws {UnavailableError} when its engine or the volume does not answer */
  async addDriver(driver: DriverInUse): Promise<void> {
    const addition = this.additions.get(driver.kind) ?? this.mutex.run('record', () => this.extendRecord(driver));
    this.additions.set(driver.kind, addition);
    try {
      await addition;
    } catch (error) {
      if (this.additions.get(driver.kind) === addition) this.additions.delete(driver.kind);
      throw error;
    }
  }

  private async extendRecord(driver: DriverInUse): Promise<void> {
    const { record } = this;
    if (record === undefined) return;
    const added = { driver: driver.kind, domain: (await driver.domain()) ?? null };
    const extended = { ...record, domains: [...record.domains, added] };
    try {
      await this.options.records.write(extended);
    } catch (cause) {
      const details = { dependency: 'sandbox' };
      throw new UnavailableError('the record of this sandbox-manager cannot be written', { cause, details });
    }
    this.record = extended;
  }

  /** (M1) Removes the record and closes the socket; this process has ended all its executions before. */
  async close(): Promise<void> {
    const { server } = this;
    const { managerId, records } = this.options;
    this.record = undefined;
    this.server = undefined;
    if (records.bootId !== undefined) await records.remove(managerId);
    if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()));
    await records.close();
  }
}

/** @throws a system error where no socket can be made */
async function listen(path: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.destroy();
  });
  server.listen(path);
  await once(server, 'listening');
  // A connection that could not be accepted, for want of descriptors, does not end the socket.
  server.on('error', () => undefined);
  return server.unref();
}
