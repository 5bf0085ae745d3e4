import { expect, it } from 'vitest';
import { Events } from '../events.js';
import { Loop } from './loop.js';
import { settle } from './virtual-clock.js';

function setup() {
  const events = new Events();
  const failed: string[] = [];
  events.on('stage.failed', ({ stage, error }) => failed.push(`${stage}: ${error.message}`));
  const passes: { signal: AbortSignal; end: (error?: Error) => Promise<void> }[] = [];
  const pass = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const end = (error?: Error) => {
        if (error) reject(error);
        else resolve();
        return settle();
      };
      passes.push({ signal, end });
    });
  return { loop: new Loop('sample', pass, events), passes, failed };
}

it('never overlaps a pass with another', async () => {
  const { loop, passes } = setup();
  void loop.run();
  void loop.run();
  expect(passes).toHaveLength(1);
  await passes[0]!.end();
  void loop.run();
  expect(passes).toHaveLength(2);
});

it('tells of a pass that failed, and goes on with the next', async () => {
  const { loop, passes, failed } = setup();
  const run = loop.run();
  await passes[0]!.end(new Error('gone'));
  await run;
  expect(failed).toEqual(['sample: gone']);
  void loop.run();
  expect(passes).toHaveLength(2);
});

it('once woken starts a pass at once, or one right after the pass under way', async () => {
  const { loop, passes } = setup();
  loop.wake();
  loop.wake();
  loop.wake();
  expect(passes).toHaveLength(1);
  await passes[0]!.end();
  expect(passes).toHaveLength(2);
  await passes[1]!.end();
  expect(passes).toHaveLength(2);
});

it('stops after the pass under way, which is told, and starts none again', async () => {
  const { loop, passes } = setup();
  void loop.run();
  loop.wake();
  let stopped = false;
  void loop.stop().then(() => {
    stopped = true;
  });
  await settle();
  expect(passes[0]!.signal.aborted).toBe(true);
  expect(stopped).toBe(false);
  await passes[0]!.end();
  expect(stopped).toBe(true);
  await loop.run();
  loop.wake();
  await loop.stop();
  expect(passes).toHaveLength(1);
});
