import { Events, type Pipeline } from '@xtimer/pipeline';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Cadence } from './cadence.js';
import { PipelineModule } from './pipeline.module.js';

function setup(start: () => Promise<void>) {
  const steps: string[] = [];
  const say = (step: string) => async () => void steps.push(step);
  const pipeline = { events: new Events(), membership: { pass: say('registered') }, start };
  const cadence = { start: () => void steps.push('beating') };
  const module = new PipelineModule(
    pipeline as unknown as Pipeline,
    cadence as unknown as Cadence,
    {} as never,
    {} as never,
    {} as never,
    pino({ level: 'silent' }),
  );
  return { module, steps };
}

it('renews its lease while its first passes take their time', async () => {
  let finish = () => {};
  const { module, steps } = setup(() => new Promise((resolve) => (finish = resolve)));
  const started = module.onApplicationBootstrap().then(() => steps.push('started'));
  await new Promise(setImmediate);
  expect(steps).toEqual(['registered', 'beating']);
  finish();
  await started;
  expect(steps.at(-1)).toBe('started');
});
