import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisConnection, type RedisLink } from '@caribou/state';
import { type Command as ScriptCall, Redis } from 'ioredis';

/** Begins all keys of the product. */
export const KEY_PREFIX = 'caribou:';
const NOW = 'simulator:now';
const EXPIRY = 'simulator:expiry';

/**
 * Shadows `redis` in a script of the product: TIME is the virtual clock, and times to live lie in a sorted set, from
 * which `ADVANCE` removes what has expired. Everything else is the server's.
 */
const PRELUDE = `local redis = (function(real)
  local function now_us() return real.call('GET', '${NOW}') end
  local function expire(key, ms, option)
    local at, known = tonumber(now_us()) / 1000 + ms, real.call('ZSCORE', '${EXPIRY}', key)
    if real.call('EXISTS', key) == 0 or (option == 'NX' and known) or (option == 'XX' and not known) then return 0 end
    if option == 'GT' and (not known or at <= tonumber(known)) then return 0 end
    if option == 'LT' and known and at >= tonumber(known) then return 0 end
    real.call('ZADD', '${EXPIRY}', string.format('%.3f', at), key)
    return 1
  end
  local known = {
    TIME = function() local us = now_us() return { us:sub(1, -7), us:sub(-6) } end,
    PEXPIRE = function(key, ms, option) return expire(key, tonumber(ms), option) end,
    PERSIST = function(key) return real.call('ZREM', '${EXPIRY}', key) end,
    PTTL = function(key)
      local at = real.call('ZSCORE', '${EXPIRY}', key)
      if real.call('EXISTS', key) == 0 then return -2 end
      return at and math.floor(tonumber(at) - tonumber(now_us()) / 1000) or -1
    end,
    SET = function(key, value, option, ms)
      if option and option ~= 'PX' then error('the simulator does not know SET with ' .. option) end
      real.call('ZREM', '${EXPIRY}', key)
      local reply = real.call('SET', key, value)
      if ms then expire(key, tonumber(ms)) end
      return reply
    end,
    DEL = function(...) real.call('ZREM', '${EXPIRY}', ...) return real.call('DEL', ...) end,
    UNLINK = function(...) real.call('ZREM', '${EXPIRY}', ...) return real.call('UNLINK', ...) end,
  }
  local function call(name, ...) return (known[name] or function(...) return real.call(name, ...) end)(...) end
  return setmetatable({ call = call }, { __index = real })
end)(redis) `;

const ADVANCE = `redis.call('SET', '${NOW}', ARGV[1])
local expired = redis.call('ZRANGEBYSCORE', '${EXPIRY}', '-inf', tonumber(ARGV[1]) / 1000)
for _, key in ipairs(expired) do redis.call('DEL', key) redis.call('ZREM', '${EXPIRY}', key) end
return #expired`;

export type Command = (client: Redis) => Promise<unknown>;

/** A real redis-server that runs the product's scripts by the scheduler's clock. */
export class VirtualRedis {
  /** The connection of the checker. */
  readonly checker: RedisConnection;
  private readonly client: Redis;
  private readonly asSeen: Redis;
  /** The script with its prelude, by the hash of the product's script. */
  private readonly prepared = new Map<string, string>();
  private log: { readonly atMs: number; readonly command: Command }[] = [];
  private advance = '';

  private constructor(
    private readonly server: ChildProcess,
    private readonly folder: string,
  ) {
    this.client = new Redis(join(folder, 'redis.sock'), { maxRetriesPerRequest: null });
    this.asSeen = new Proxy(this.client, {
      get: (client, name) => {
        if (name === 'sendCommand') return this.send.bind(this);
        // Scripts arrive by this one; otherwise they would read the server's own clock.
        if (/^(eval|fcall|script|function)/.test(String(name)))
          throw new Error(`the simulator does not know ${String(name)}`);
        const value: unknown = Reflect.get(client, name);
        return typeof value === 'function' ? (value.bind(client) as unknown) : value;
      },
    });
    const use: RedisLink['use'] = (command) => command(this.asSeen);
    this.checker = new RedisConnection({ use, close: () => Promise.resolve() }, KEY_PREFIX);
  }

  /** Starts a server on a socket of its own. @throws {Error} when it does not answer within 10 s */
  static async start(): Promise<VirtualRedis> {
    const folder = mkdtempSync(join(tmpdir(), 'caribou-simulator-'));
    const options = ['--port', '0', '--unixsocket', join(folder, 'redis.sock'), '--dir', folder, '--save', ''];
    const server = spawn('redis-server', [...options, '--appendonly', 'no', '--hz', '1'], { stdio: 'ignore' });
    const failed = new Promise<never>((_resolve, reject) => {
      server.once('error', reject);
      setTimeout(() => reject(new Error('redis-server did not answer within 10 s')), 10_000).unref();
    });
    const redis = new VirtualRedis(server, folder);
    redis.client.on('error', () => undefined);
    redis.advance = String(await Promise.race([redis.client.script('LOAD', ADVANCE), failed]));
    return redis;
  }

  /** Empties the store. */
  async reset(): Promise<void> {
    this.log = [];
    await this.client.flushall();
  }

  /** Runs a command of the product at a time of the wall clock. */
  async execute<Reply>(atMs: number, command: (client: Redis) => Promise<Reply>): Promise<Reply> {
    this.log.push({ atMs, command });
    return this.at(atMs, command);
  }

  /** Runs a command that belongs to no process at a time of the wall clock. */
  async peek<Reply>(atMs: number, command: (client: Redis) => Promise<Reply>): Promise<Reply> {
    return this.at(atMs, command);
  }

  /** Makes every key that contains the word expire then. */
  async expireAll(word: string, atMs: number): Promise<void> {
    for (const key of await this.client.keys(`*${word}*`)) await this.client.zadd(EXPIRY, String(atMs), key);
  }

  /** Becomes a replica without the last `count` commands. */
  async loseLast(count: number): Promise<void> {
    const replicated = this.log.slice(0, Math.max(0, this.log.length - count));
    await this.reset();
    this.log = replicated;
    for (const { atMs, command } of replicated) await this.at(atMs, command);
  }

  /** Removes every key that contains the word. */
  async forget(word: string): Promise<void> {
    for (const key of await this.client.keys(`*${word}*`)) await this.client.del(key);
  }

  stop(): void {
    this.client.disconnect();
    this.server.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Moves the clock and runs the command, in one write: that is most of what a call costs. */
  private async at<Reply>(atMs: number, command: (client: Redis) => Promise<Reply>): Promise<Reply> {
    const { stream } = this.client;
    stream.cork();
    const moved = this.client.evalsha(this.advance, 0, String(Math.round(atMs * 1000)));
    const replied = command(this.asSeen);
    stream.uncork();
    const [, reply] = await Promise.all([moved, replied]);
    return reply;
  }

  /** Sends a command with the script that shadows its own. */
  private async send(command: ScriptCall): Promise<unknown> {
    const { name, args } = command;
    if (!name.startsWith('EVAL')) throw new Error(`the simulator does not know ${name}`);
    const [script, ...rest] = args;
    const isLoaded = name.startsWith('EVALSHA');
    const prepared = isLoaded ? this.prepared.get(String(script)) : await this.prepare(String(script));
    if (prepared === undefined) throw new Error('NOSCRIPT');
    command.name = isLoaded ? name : name.replace('EVAL', 'EVALSHA');
    command.args = [prepared, ...rest];
    return this.client.sendCommand(command);
  }

  private async prepare(source: string): Promise<string> {
    const [first = '', ...lines] = source.split('\n');
    const hasShebang = first.startsWith('#!');
    const body = hasShebang ? lines.join('\n') : source;
    const prepared = String(await this.client.script('LOAD', `${hasShebang ? `${first}\n` : ''}${PRELUDE}${body}`));
    this.prepared.set(createHash('sha1').update(source).digest('hex'), prepared);
    return prepared;
  }
}
