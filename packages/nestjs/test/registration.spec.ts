import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type Client, createClient } from '@xtimer/client';
import { startServer, type TestServer } from '@xtimer/testkit';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type CronOptions, DelayConsumer, DelayQueue, SetupError, XtimerCron, XtimerModule } from '../src/index.js';
import { freePort, NOWHERE, optionsOf, startApp, until, withModule } from './support.js';

/** Against the built server, embedded. Each test has an app of its own. */

let server: TestServer;
let client: Client;
beforeAll(async () => {
  server = await startServer();
  client = createClient(server);
});
afterAll(() => server.stop());

let apps = 0;
function setup() {
  const app = `app-${++apps}`;
  const options = optionsOf({ url: server.url, token: server.token, app });
  return {
    app,
    options,
    timers: async (name = 'nightly') => (await client.timers.list({ app, name })).list,
    topics: async () => (await client.topics.list({ app })).list,
    start: (provider: new () => object = Nightly, more = {}) =>
      startApp(withModule({ ...options, ...more }, [provider])),
  };
}

/** A class with one cron. */
const cronOf = (timer: Partial<CronOptions>) => {
  @Injectable()
  class Crons {
    @XtimerCron({ name: 'nightly', cron: '0 0 3 * * ?', ...timer })
    run() {}
  }
  return Crons;
};
const Nightly = cronOf({ timezone: 'Asia/Shanghai', retry: { maxAttempts: 2 } });

@Injectable()
class Orders {
  @DelayConsumer('order-timeout', { timeoutMs: 2_000, retry: { maxAttempts: 3 }, slotAmount: 8 })
  expire() {}
}

/** What the boot ends with. */
const refusal = (starting: Promise<unknown>) =>
  starting.then(
    () => expect.unreachable('it started'),
    (error) => {
      expect(error).toBeInstanceOf(SetupError);
      return error as SetupError;
    },
  );

it('makes one timer and one topic, however many instances start at once, and again', async () => {
  const { options, timers, topics } = setup();
  const metadata = withModule(options, [Nightly, Orders]);
  await Promise.all([1, 2, 3, 4, 5].map(() => startApp(metadata)));
  const [timer, ...doubles] = await timers();
  expect(doubles).toEqual([]);
  expect(timer).toMatchObject({
    ...{ cron: '0 0 3 * * ?', timezone: 'Asia/Shanghai', status: 2, retry: { maxAttempts: 2 } },
    notifyHTTPParam: { method: 'POST', url: 'http://127.0.0.1:1/_xtimer/callback/timers/nightly' },
  });
  const [topic, ...others] = await topics();
  expect(others).toEqual([]);
  expect(topic).toMatchObject({
    ...{ topic: 'order-timeout', status: 2, timeoutMs: 2_000, slotAmount: 8, retry: { maxAttempts: 3 } },
    notifyHTTPParam: { url: 'http://127.0.0.1:1/_xtimer/callback/topics/order-timeout' },
  });
  await startApp(metadata);
  expect(await timers()).toEqual([timer]);
  expect(await topics()).toEqual([topic]);
});

it('updates what the decorators changed, and leaves alone what they leave out', async () => {
  const { app, start, timers } = setup();
  await start();
  const [before] = await timers();
  await client.timers.update({ app, timerId: before!.timerId, timeoutMs: 7_000 });
  await start(cronOf({ cron: '0 0 4 * * ?', startAt: '2020-01-01T00:00:00Z' }));
  const [after] = await timers();
  expect(after).toMatchObject({
    ...{ timerId: before!.timerId, cron: '0 0 4 * * ?', startAt: Date.UTC(2020, 0, 1), timeoutMs: 7_000, status: 2 },
    ...{ timezone: 'Asia/Shanghai', retry: { maxAttempts: 2 } },
  });
  await start(cronOf({ cron: '0 0 4 * * ?', startAt: '2020-01-01T00:00:00Z' }));
  expect((await timers())[0]!.version).toBe(after!.version);
});

it('keeps what somebody paused, cleans up what a start left behind, and touches no timer of others', async () => {
  const { app, start, timers } = setup();
  await start();
  const [{ timerId, ...made }] = (await timers()) as [Awaited<ReturnType<typeof timers>>[0]];
  const { cron, name, notifyHTTPParam } = made;
  // Died between making and enabling, beside one that was there already.
  await client.timers.create({ app, name, cron, notifyHTTPParam });
  const theirs = await client.timers.create({ app, name, cron, notifyHTTPParam: { ...notifyHTTPParam, header: {} } });
  await start();
  expect((await timers()).map((timer) => [timer.timerId, timer.status])).toEqual([
    [theirs.timerId, 1],
    [timerId, 2],
  ]);

  await until(() =>
    client.timers.pause({ app, timerId }).catch((error) => error.code !== 42900 && Promise.reject(error)),
  );
  await start();
  expect((await timers()).find((timer) => timer.timerId === timerId)!.status).toBe(1);

  const left = await client.timers.create({ app, name: 'left', cron, notifyHTTPParam });
  await start(cronOf({ name: 'left', cron: '0 0 5 * * ?' }));
  expect(await timers('left')).toMatchObject([{ timerId: left.timerId, status: 2, cron: '0 0 5 * * ?' }]);
});

it('works once when it is imported twice, and not with two configurations', async () => {
  const { options, timers } = setup();
  @Module({ imports: [XtimerModule.forRootAsync({ useFactory: () => ({ ...options }) })] })
  class Feature {}
  const metadata = { imports: [XtimerModule.forRoot(options), Feature], providers: [Nightly] };
  const { app } = await startApp(metadata);
  expect(app.get(DelayQueue)).toBeInstanceOf(DelayQueue);
  expect(await timers()).toHaveLength(1);

  const other = { imports: [XtimerModule.forRoot(options), XtimerModule.forRoot({ ...options, app: 'other' })] };
  expect(await refusal(startApp(other))).toMatchObject({ code: 'TWICE', message: expect.stringContaining('app') });
});

it('stops the boot of a service that is set up wrongly, and says why', async () => {
  const { app, options, start } = setup();
  @Injectable()
  class Again {
    @DelayConsumer('order-timeout')
    too() {}
  }
  const twice = await refusal(startApp(withModule(options, [Orders, Again])));
  expect(twice).toMatchObject({ code: 'TWICE' });
  expect(twice.message).toMatch(/"order-timeout".*Orders\.expire.*Again\.too/);
  const sameName = class extends Nightly {};
  expect((await refusal(startApp(withModule(options, [Nightly, sameName])))).message).toMatch(/two crons.*"nightly"/);

  for (const [name, value] of [
    ['secret', undefined],
    ['secret', ''],
    ['secret', 'not-a-secret'],
    ['token', undefined],
    ['app', ''],
    ['url', 'localhost:8082'],
    ['baseUrl', undefined],
    ['callbackPath', 'no-slash'],
  ] as const) {
    const wrong = await refusal(start(Nightly, { [name]: value }));
    expect(wrong).toMatchObject({ code: 'OPTION_INVALID', message: expect.stringContaining(`${name} `) });
    if (value) expect(wrong.message).not.toContain(value);
  }
  const nothing = { imports: [XtimerModule.forRootAsync({ useFactory: () => undefined as never })] };
  expect(await refusal(startApp(nothing))).toMatchObject({ code: 'OPTION_INVALID' });

  const badCron = await refusal(start(cronOf({ cron: '61 * * * * ?' })));
  expect(badCron).toMatchObject({ code: 'REFUSED', message: expect.stringMatching(/"nightly" of Crons\.run.*61/) });
  expect(await refusal(start(Nightly, { token: 'another-token-entirely' }))).toMatchObject({ code: 'REFUSED' });

  await start(Orders, { publishes: ['order-timeout'] });
  const unknown = await refusal(start(Nightly, { publishes: ['order-timeout', 'order-timout'] }));
  expect(unknown).toMatchObject({ code: 'UNKNOWN_TOPIC' });
  expect(unknown.message).toContain(`"order-timout", which app "${app}" does not have: it has order-timeout`);
});

it('starts without xtimer and registers when it is there', async () => {
  const port = await freePort();
  const options = optionsOf({ url: `http://127.0.0.1:${port}`, token: server.token });
  const { lines } = await startApp(withModule(options, [Nightly]));
  expect(lines.find((line) => line.includes(`${port} failed`))).toMatch(
    /ECONNREFUSED.*Nothing is registered yet; next try in/,
  );

  const late = await startServer({ env: { XTIMER_PORT: String(port) } });
  onTestFinished(async () => void (await late.stop()));
  // The longer the server took to start, the longer the wait for the next try has become.
  await until(() => lines.some((line) => line.includes('0 topics and 1 crons are registered')), 80_000);
  expect((await createClient(late).timers.list({ app: 'shop' })).list).toMatchObject([{ name: 'nightly', status: 2 }]);
}, 120_000);

it('does not start without xtimer when told so, and needs none where there is no HTTP', async () => {
  const failing = startApp(withModule(optionsOf({ url: NOWHERE, failFast: true }), [Nightly]));
  expect(await refusal(failing)).toMatchObject({ code: 'UNREACHABLE', message: expect.stringContaining(NOWHERE) });

  @Module(withModule(optionsOf({ url: NOWHERE, failFast: true }), [Nightly]))
  class Command {}
  const context = await NestFactory.createApplicationContext(Command, { logger: false });
  expect(context.get(DelayQueue)).toBeInstanceOf(DelayQueue);
  await context.close();
});
