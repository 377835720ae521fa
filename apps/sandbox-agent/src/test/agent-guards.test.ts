import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { AGENT_ROUTES, encodeFrame, encodeJsonFrame, FRAMES_TYPE, UnavailableError } from '@caribou/contracts';
import { type CommandResult, HttpAgentClient, type SandboxCommand, SandboxGoneError } from '@caribou/sandbox';
import { freePort, temporaryFolder, waitFor } from '@caribou/testing';
import { type AgentImage, AgentProcess, buildAgent, describeWithAgent } from '../testing/agent-process.js';

const folder = temporaryFolder();
const home = join(folder, 'home');
const copy = join(home, 'users/u1/threads/t1/user-data/workspace');
const never = new AbortController().signal;
const nothing = { egress: undefined, skills: undefined };
let image: AgentImage;
let agent: AgentProcess;
let client: HttpAgentClient;
let proxyPort: number;

const run = (command: string, more: Partial<SandboxCommand> = {}, signal = never): Promise<CommandResult> =>
  client.exec({ command, timeoutMs: 20_000, maxOutputBytes: 100_000, ...more }, nothing, signal);

const ask = (path: string, init: RequestInit = {}, type = 'application/json'): Promise<Response> =>
  fetch(`http://127.0.0.1:${agent.port}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${agent.token}`, 'content-type': type },
  });
const post = (path: string, body: BodyInit, type = 'application/json'): Promise<Response> =>
  ask(path, { method: 'POST', body }, type);

beforeAll(async () => {
  chmodSync(folder, 0o755);
  image = await buildAgent(folder);
  proxyPort = await freePort();
  agent = await AgentProcess.start(image, join(folder, 'pod'), { proxyPort });
  client = await agent.client(home);
}, 60_000);

afterAll(async () => {
  await client.close();
  await agent.stop();
});

describeWithAgent('a command that attacks the agent', () => {
  test.each([
    ['kills everything it may', 'kill -9 -1; sleep 0.1; true'],
    [
      'kills process 1',
      'kill -9 1; kill -TERM 1; kill -STOP 1; kill -HUP 1; kill -USR2 1; kill -INT 1; kill -QUIT 1; true',
    ],
  ])('%s, and the next command runs', async (_what, command) => {
    const { instance } = await client.health();
    await run(command);
    expect((await run('echo next')).stdout).toBe('next\n');
    expect((await client.health()).instance).toBe(instance);
  });

  test('starts no debugger by a signal', async () => {
    const { stdout } = await run('kill -USR1 1; sleep 0.5; grep -c ":240D " /proc/net/tcp; true');
    expect(stdout).toBe('0\n');
  });

  test('reads nothing of it', async () => {
    const files = ['environ', 'mem', 'maps', 'auxv', 'stack', 'io'].map((name) => `/proc/1/${name}`);
    const { stdout } = await run(
      `for f in ${files.join(' ')}; do head -c 1 $f >/dev/null 2>&1 && echo "open: $f"; done; ls /proc/1/fd /proc/1/task/1/fd 2>/dev/null; readlink /proc/1/exe /proc/1/cwd; cat /opt/node 2>/dev/null | head -c 1 | wc -c`,
    );
    expect(stdout).toBe('0\n');
  });

  test('cannot trace it, nor write to its memory', async () => {
    const script = `import ctypes, ctypes.util, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, 1, 0, 0), ctypes.get_errno())
print(libc.ptrace(0x4206, 1, 0, 0), ctypes.get_errno())
try: os.open("/proc/1/mem", os.O_RDWR)
except OSError as error: print("mem", error.errno)
print(libc.syscall(438, libc.syscall(434, 1, 0), 3, 0), ctypes.get_errno())`;
    writeFileSync(join(copy, 'trace.py'), script);
    // 1: EPERM, 13: EACCES
    expect((await run('/usr/bin/python3 trace.py')).stdout).toBe('-1 1\n-1 1\nmem 13\n-1 1\n');
  });

  test('opens all connections it can, and the manager is still answered', async () => {
    const script = `import socket, time
s = []
for i in range(200):
    try: s.append(socket.create_connection(("127.0.0.1", ${agent.port}), 1))
    except OSError: pass
print("open", flush=True)
time.sleep(20)`;
    writeFileSync(join(copy, 'connections.py'), script);
    const cancel = new AbortController();
    let opened = false;
    // Connections that the manager has open; here it has the address of the sandbox.
    await Promise.all(Array.from({ length: 3 }, () => client.health()));
    const onOutput = (): void => void (opened = true);
    const result = run('/usr/bin/python3 connections.py', { onOutput }, cancel.signal);
    await waitFor(() => opened, { what: 'the connections' });
    const status = await new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: agent.port, path: AGENT_ROUTES.ready, localAddress: '127.0.0.2' };
      get(options, (reply) => resolve(reply.resume().statusCode)).once('error', reject);
    });
    expect(status).toBe(204);
    cancel.abort();
    await expect(result).resolves.toMatchObject({ endedBy: 'cancel', stdout: 'open\n' });
  });
});

describeWithAgent('a request', () => {
  test.each([
    ['without a token', {}, 401],
    ['with another token', { authorization: 'Bearer wrong' }, 401],
    ['with another scheme', { authorization: 'Basic wrong' }, 401],
  ])('%s is refused', async (_what, headers, status) => {
    const reply = await fetch(`http://127.0.0.1:${agent.port}${AGENT_ROUTES.health}`, { headers });
    expect(reply.status).toBe(status);
  });

  test.each<[string, () => Promise<Response>, number, string]>([
    ['to no route', () => ask('/v1/nothing'), 404, 'no such route'],
    ['for a lease that is too long', () => post(AGENT_ROUTES.lease, '{"leaseMs":9000000}'), 422, 'leaseMs'],
    ['with a long body', () => post(AGENT_ROUTES.lease, 'x'.repeat(5_000)), 413, '4096 bytes'],
    ['that is no JSON', () => post(AGENT_ROUTES.kill, '{'), 422, 'not JSON'],
    ['without frames', () => post(AGENT_ROUTES.exec, 'hello', FRAMES_TYPE), 422, 'no frame of type 104'],
    [
      'whose head is no head',
      () => post(AGENT_ROUTES.exec, Buffer.from(encodeFrame('started')), FRAMES_TYPE),
      422,
      '"head"',
    ],
    [
      'whose head lacks a field',
      () => post(AGENT_ROUTES.exec, Buffer.from(encodeJsonFrame('head', { id: 'x', command: 'true' })), FRAMES_TYPE),
      422,
      'head.timeoutMs',
    ],
    [
      'with a frame that is too long',
      () => post(AGENT_ROUTES.exec, Buffer.from([1, 0xff, 0xff, 0xff, 0xff]), FRAMES_TYPE),
      422,
      'a frame may have 262144 bytes',
    ],
  ])('%s is refused with what is wrong', async (_what, send, status, message) => {
    const reply = await send();
    expect(reply.status).toBe(status);
    expect(((await reply.json()) as { message: string }).message).toContain(message);
    expect((await run('echo fine')).stdout).toBe('fine\n');
  });

  test('to run a second command is refused while the first one runs', async () => {
    const cancel = new AbortController();
    let started = false;
    const first = run('echo; sleep 20', { onOutput: () => void (started = true) }, cancel.signal);
    await waitFor(() => started, { what: 'the first command' });
    const second = await agent.client(join(folder, 'second'), 't2');
    await expect(
      second.exec({ command: 'true', timeoutMs: 1_000, maxOutputBytes: 10 }, nothing, never),
    ).rejects.toThrow('another request runs');
    await second.close();
    cancel.abort();
    await first;
  });
});

describeWithAgent('a client', () => {
  test.each([
    ['whose token is another one', () => ({ token: 'another-token-than-that' })],
    ['whose agent is gone', () => ({ port: proxyPort })],
  ])('%s learns that nothing has run', async (_what, change) => {
    const other = await agent.client(join(folder, 'third'), 't3');
    other['http'].close();
    const endpoint = { host: '127.0.0.1', port: agent.port, token: agent.token, ...change() };
    const lost = new HttpAgentClient({ ...other['options'], endpoint });
    await expect(
      lost.exec({ command: 'true', timeoutMs: 1_000, maxOutputBytes: 10 }, nothing, never),
    ).rejects.toBeInstanceOf(SandboxGoneError);
    await expect(lost.hold(1_000)).rejects.toThrow('the agent of the sandbox does not answer');
    await lost.close();
  });

  test('whose agent is killed while its command runs learns that it may have run', async () => {
    const short = await AgentProcess.start(image, join(folder, 'short'));
    const its = await short.client(join(folder, 'fourth'), 't4');
    const command = { command: 'echo; sleep 20', timeoutMs: 30_000, maxOutputBytes: 10 };
    const result = its.exec({ ...command, onOutput: () => void short.stop() }, nothing, never);
    await expect(result).rejects.toThrow(UnavailableError);
    await expect(result).rejects.not.toBeInstanceOf(SandboxGoneError);
    await expect(its.exec(command, nothing, never)).rejects.toThrow('does not answer');
    await its.close();
  });
});

describeWithAgent('a command ends', () => {
  test('when the lease lapses, and none is started then', async () => {
    await client.hold(400);
    const result = await run('echo begun >lapsed; sleep 20');
    expect(result).toMatchObject({ endedBy: 'cancel', exitCode: 137 });
    expect(existsSync(join(copy, 'lapsed'))).toBe(true);
    await expect(run('true')).rejects.toThrow('without a lease');
    await client.hold(60_000);
    expect((await run('echo again')).stdout).toBe('again\n');
  });

  test('when its connection breaks off, and what it has written comes with the next exchange', async () => {
    const cut = await agent.client(home);
    let started = false;
    const command = { command: 'echo half >half.txt; echo; sleep 30', timeoutMs: 60_000, maxOutputBytes: 10 };
    const running = cut.exec({ ...command, onOutput: () => void (started = true) }, nothing, never);
    running.catch(() => undefined);
    await waitFor(() => started, { what: 'the command' });
    cut['http'].close();
    await expect(running).rejects.toThrow('does not answer');
    expect(readFileSync(join(copy, 'half.txt'), 'utf8')).toBe('half\n');
    expect((await cut.health()).processes).toBe(0);
    await cut.close();
    await client.close();
    client = await agent.client(home);
  });

  test('on its own when nobody reads its output', async () => {
    const slow = run('head -c 1500000 /dev/zero | tr "\\0" x; echo done >done.txt', {
      maxOutputBytes: 1_000,
      onOutput: () => {
        const untilMs = performance.now() + 30;
        while (performance.now() < untilMs) continue;
      },
    });
    await expect(slow).resolves.toMatchObject({ exitCode: 0, endedBy: 'exit' });
    expect(existsSync(join(copy, 'done.txt'))).toBe(true);
  });
});

describeWithAgent('an agent', () => {
  test('ends by itself without requests', async () => {
    const lonely = await AgentProcess.start(image, join(folder, 'lonely'), { orphanMs: 1_000 });
    await waitFor(() => lonely.child.exitCode !== null, { what: 'its end' });
    expect(lonely.child.exitCode).toBe(0);
  });

  test('connections of programs reach the proxy of the manager with the token of the sandbox', async () => {
    const seen: string[] = [];
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.once('data', (chunk) => {
        seen.push(chunk.toString('latin1'));
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello');
      });
    });
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    const egress = { host: '127.0.0.1', port, token: 'token-of-this-sandbox' };
    const command = {
      command: `exec 3<>/dev/tcp/127.0.0.1/${proxyPort}; printf 'GET http://a/ HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3; env | grep -c _PROXY`,
      timeoutMs: 5_000,
      maxOutputBytes: 1000,
    };

    try {
      const result = await client.exec(command, { egress, skills: undefined }, never);

      expect(result.stdout).toContain('hello');
      expect(seen.join('')).toMatch(/^caribou-egress 1 token-of-this-sandbox\n(GET http:\/\/a\/)?/);
      const closed = await run(`(exec 3<>/dev/tcp/127.0.0.1/${proxyPort}) 2>/dev/null || echo closed`);
      expect(closed.stdout).toBe('closed\n');
    } finally {
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  });
});
