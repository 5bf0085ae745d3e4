/**
 * Child processes: each is ended by its own pid, whatever way the command itself ends.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const alive = new Set();

/**
 * Starts a program in a process group of its own, so that Ctrl-C in the terminal reaches only us and we decide in
 * which order things end. `output` collects what a quiet child writes.
 */
export function start(command, args, { env = {}, cwd, quiet = false, stdio } = {}) {
  const child = spawn(command, args, {
    cwd,
    detached: true,
    env: { ...process.env, ...env },
    stdio: stdio ?? (quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit']),
    shell: process.platform === 'win32' && command === 'npm',
  });
  child.output = '';
  if (quiet) {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (child.output += text));
  }
  child.ended = new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: 127, output: error.message }));
    child.once('close', (code, signal) => resolve({ code: code ?? 128, signal, output: child.output }));
  });
  alive.add(child);
  child.ended.then(() => alive.delete(child));
  return child;
}

/** Runs a program to its end. `timeoutMs`: it and what it started are ended then, which counts as failed. */
export async function run(command, args, { timeoutMs, ...options } = {}) {
  const child = start(command, args, options);
  const timer = timeoutMs && setTimeout(() => end(child), timeoutMs);
  const result = await child.ended;
  clearTimeout(timer);
  return result;
}

/** Asks a child to end; after `graceMs` it is ended. With `group`, also what it started itself. */
export async function end(child, { signal = 'SIGTERM', graceMs = 10_000, group = true } = {}) {
  if (!alive.has(child) || child.pid === undefined) return;
  const send = (name) => {
    try {
      process.kill(group ? -child.pid : child.pid, name);
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  };
  send(signal);
  const timer = setTimeout(() => send('SIGKILL'), graceMs);
  await child.ended;
  clearTimeout(timer);
}

export const endAll = () => Promise.all([...alive].map((child) => end(child)));

/** Calls `clean` once on Ctrl-C, SIGTERM or a closed terminal, then exits: with `exitCode`, or as a shell expects. */
export function onInterrupt(clean, { exitCode } = {}) {
  let first = true;
  for (const [signal, number] of Object.entries({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 })) {
    // npm and the terminal may both deliver the same Ctrl-C: the handler stays, and only the first one acts.
    process.on(signal, async () => {
      if (!first) return;
      first = false;
      await clean(signal);
      process.exit(exitCode ?? 128 + number);
    });
  }
}

/** A port nobody listens on right now. `preferred` is taken when it is free. */
export async function freePort(preferred = 0) {
  const server = createServer();
  server.listen(preferred, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if (preferred === 0 || error.code !== 'EADDRINUSE') throw error;
    return freePort();
  }
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Asks `check` until it says yes. Gives up after `withinMs`, or at once when `child` has ended. */
export async function until(check, { withinMs = 30_000, everyMs = 50, child, what }) {
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    let problem = 'not yet';
    try {
      if (await check()) return;
    } catch (error) {
      problem = error.message;
    }
    if (child && !alive.has(child)) throw new Error(`${what}: the process ended.\n${child.output}`);
    if (performance.now() > giveUpAt) throw new Error(`${what}: not within ${withinMs / 1000} s (${problem}).`);
    await sleep(everyMs);
  }
}
