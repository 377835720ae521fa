import { Socket } from 'node:net';
import { UnavailableError } from '@caribou/contracts';
import type Docker from 'dockerode';
import { toEngineUnavailable, withinTime } from './docker-engine.js';

/**
 * Ties sandboxes to this process by their standard input, which is never written to. The engine closes the standard
 * input of a sandbox when the connection that is attached to it ends, and the sandbox ends with its input: so no
 * sandbox outlives its manager, however that died and whether or not another one is ever started. A sandbox has one
 * tether at most: a second one would end the sandbox when it is closed.
 */
export class ContainerTethers {
  private readonly tied = new Map<string, Promise<Socket>>();

  constructor(private readonly engine: () => Docker) {}

  /**
   * Ties a sandbox, by its engine id; one that is tied stays so.
   *
   * @throws {UnavailableError} when the engine does not answer, or has no such sandbox
   */
  async tie(engineId: string): Promise<void> {
    const tether = this.tied.get(engineId) ?? this.attach(engineId);
    try {
      await withinTime(tether);
    } catch (error) {
      this.untie(engineId);
      throw error instanceof UnavailableError ? error : toEngineUnavailable(error);
    }
  }

  /** Closes the tether of a sandbox, which ends if it still runs. */
  untie(engineId: string): void {
    const tether = this.tied.get(engineId);
    this.tied.delete(engineId);
    // A tether that could not be attached has no connection to close.
    tether?.then((stream) => stream.destroy()).catch(() => undefined);
  }

  private attach(engineId: string): Promise<Socket> {
    const attached = this.engine()
      .getContainer(engineId)
      .attach({ stream: true, stdin: true, stdout: false, stderr: false, hijack: true });
    const tether = attached.then((stream) => {
      if (!(stream instanceof Socket)) throw new Error('the engine gave no connection to the sandbox');
      // A sandbox does not prevent its manager from ending.
      stream.unref();
      // Why the connection ended does not matter; that it did is seen by `close`.
      stream.on('error', () => undefined);
      stream.once('close', () => {
        if (this.tied.get(engineId) === tether) this.tied.delete(engineId);
      });
      stream.resume();
      return stream;
    });
    this.tied.set(engineId, tether);
    return tether;
  }
}
