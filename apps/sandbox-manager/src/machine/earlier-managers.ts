import { errnoOf } from '@caribou/core';
import { ManagerRecords } from '@caribou/sandbox';
import { DeadManagers, type DeadManagersOptions } from './dead-managers.js';

/**
 * Watches for the end of managers of earlier versions, whose records and sockets lie in CARIBOU_HOME: their sandboxes
 * are ended and their leases released like those of others. Does nothing where that folder does not exist.
 */
export class EarlierManagers {
  private readonly records: ManagerRecords;
  private readonly managers: DeadManagers;

  constructor(homeDir: string, options: Omit<DeadManagersOptions, 'records'>) {
    this.records = new ManagerRecords(homeDir);
    this.managers = new DeadManagers({ ...options, records: this.records });
  }

  /** Begins to watch if there is something to watch. @throws a system error of the volume */
  async start(): Promise<void> {
    try {
      await this.records.openExisting();
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return;
      throw error;
    }
    this.managers.checks.start();
  }

  async stop(): Promise<void> {
    await this.managers.checks.stop();
    await this.records.close();
  }
}
