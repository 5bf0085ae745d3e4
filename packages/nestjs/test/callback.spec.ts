import { setTimeout as sleep } from 'node:timers/promises';
import { Body, type CanActivate, Controller, Injectable, Post, Scope } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it } from 'vitest';
import { DelayConsumer, DoNotRetry, type XtimerContext, XtimerCron } from '../src/index.js';
import { adapters, optionsOf, SECRET, type Sent, send, startApp, withModule } from './support.js';

type Seen = { payload: unknown; context: XtimerContext };

@Injectable()
class Shop {
  readonly seen: Seen[] = [];
  /** What the next call does. */
  behave: (seen: Seen) => unknown = () => undefined;

  @DelayConsumer('order-timeout', { timeoutMs: 5_000 })
  expire(payload: unknown, context: XtimerContext) {
    this.seen.push({ payload, context });
    return this.behave({ payload, context });
  }

  @XtimerCron({ name: 'nightly / 每晚', cron: '0 0 3 * * ?' })
  nightly(payload: unknown, context: XtimerContext) {
    this.seen.push({ payload, context });
  }

  @DelayConsumer('impatient', { timeoutMs: 100 })
  async slow(_payload: unknown, { signal }: XtimerContext) {
    await sleep(20_000, undefined, { signal });
  }
}

class NobodyPasses implements CanActivate {
  canActivate = () => false;
}

@Controller()
class Echo {
  @Post('echo')
  echo(@Body() body: unknown) {
    return { body };
  }
}

describe.each(adapters)('the callback route on %s', (adapter) => {
  const setup = async (more = {}) => {
    const { app, url, lines } = await startApp(
      { ...withModule(optionsOf(more), [Shop]), controllers: [Echo] },
      { adapter, prepare: (app) => app.setGlobalPrefix('api') },
    );
    return { url, lines, shop: app.get(Shop) };
  };

  it('gives the payload and its context to the method, and its result to the history', async () => {
    const { url, shop } = await setup();
    shop.behave = () => ({ canceled: true });
    const taskId = '4294967297_1793000000007';
    const answer = await send(url, 'topics/order-timeout', { taskId, body: '{"order": 7,\n "text": "⏰"}' });
    expect(answer).toMatchObject({ status: 200, data: { canceled: true } });
    expect(shop.seen).toEqual([
      {
        payload: { order: 7, text: '⏰' },
        context: {
          ...{ taskId, jobId: 'order-1', attempt: 2, scheduledAt: 1793000000007 },
          ...{ signal: expect.any(AbortSignal), transaction: undefined },
        },
      },
    ]);
    shop.behave = () => undefined;
    for (const [body, payload] of [
      ['"12"', '12'],
      ['plain text', 'plain text'],
      ['', null],
      ['[1]', [1]],
    ] as const) {
      expect(await send(url, 'topics/order-timeout', { body })).toMatchObject({ status: 204, data: null });
      expect(shop.seen.at(-1)!.payload).toEqual(payload);
    }
    const large = JSON.stringify({ text: 'x'.repeat(256 * 1024) });
    expect((await send(url, 'topics/order-timeout', { body: large })).status).toBe(204);
    expect((await send(url, `timers/${encodeURIComponent('nightly / 每晚')}`)).status).toBe(204);
    expect(shop.seen.at(-1)).toMatchObject({ payload: null, context: { jobId: null } });
  });

  it('executes nothing without a valid, recent signature', async () => {
    const { url, shop, lines } = await setup();
    const other = `whsec_${Buffer.from('another secret of 24 bytes').toString('base64')}`;
    const wrong: Sent[] = [
      { secret: other },
      { at: Date.now() - 310_000 },
      { at: Date.now() + 310_000 },
      { headers: { 'webhook-signature': '' } },
      { headers: { 'webhook-id': 'another' } },
    ];
    for (const sent of wrong) {
      expect((await send(url, 'topics/order-timeout', { body: '{}', ...sent })).status).toBe(401);
      expect((await send(url, 'topics/unknown', { body: '{}', ...sent })).status).toBe(401);
    }
    expect(shop.seen).toEqual([]);
    expect(lines.filter((line) => line.includes('refused'))).toHaveLength(1);
    expect(lines.join()).not.toContain(SECRET.slice(6));
  });

  it('answers 404 for what it does not have, 500 with the reason for what throws', async () => {
    const { url, shop, lines } = await setup();
    expect(await send(url, 'topics/unknown')).toMatchObject({
      status: 404,
      data: { error: expect.stringContaining('topics/unknown') },
    });
    expect((await send(url, 'timers/order-timeout')).status).toBe(404);
    expect((await fetch(`${url}/_xtimer/callback/topics/order-timeout`)).status).toBe(404);
    shop.behave = () => {
      throw new TypeError(`no stock ${'.'.repeat(1_000)}`);
    };
    const failed = await send(url, 'topics/order-timeout');
    expect(failed).toMatchObject({ status: 500, data: { error: expect.stringMatching(/^TypeError: no stock \.+…$/) } });
    expect(failed.data.error.length).toBeLessThan(310);
    expect(failed.headers.get('x-xtimer-no-retry')).toBeNull();
    expect(lines.find((line) => line.includes('Shop.expire'))).toContain('no stock');
    shop.behave = () => Promise.reject(new DoNotRetry('the order is gone'));
    const final = await send(url, 'topics/order-timeout');
    expect(final.status).toBe(500);
    expect(final.headers.get('x-xtimer-no-retry')).toBe('true');
  });

  it('aborts when the timeout passes, and when the request is closed', async () => {
    const { url, shop } = await setup();
    expect(await send(url, 'topics/impatient')).toMatchObject({
      status: 500,
      data: { error: expect.stringMatching(/abort/i) },
    });

    const abort = new AbortController();
    const aborted = new Promise((resolve) => {
      shop.behave = ({ context: { signal } }) =>
        new Promise((done) => {
          signal.addEventListener('abort', () => {
            resolve(signal.reason);
            done(undefined);
          });
          abort.abort();
        });
    });
    await expect(send(url, 'topics/order-timeout', { signal: abort.signal })).rejects.toThrow();
    expect(await aborted).toMatchObject({ message: 'xtimer closed the request' });
    expect(shop.seen.at(-1)!.context.signal.aborted).toBe(true);

    shop.behave = () => undefined;
    await send(url, 'topics/order-timeout');
    expect(shop.seen.at(-1)!.context.signal.aborted).toBe(false);
  });

  it("leaves the service's own routes, parsers and guards as they are", async () => {
    const { url } = await setup();
    const echo = (type: string, body: string) =>
      fetch(`${url}/api/echo`, { method: 'POST', headers: { 'content-type': type }, body }).then((response) =>
        response.json(),
      );
    expect(await echo('application/json', '{"a":1}')).toEqual({ body: { a: 1 } });
    expect(await echo('application/x-www-form-urlencoded', 'a=1')).toEqual({ body: { a: '1' } });

    const guarded = withModule(optionsOf(), [Shop, { provide: APP_GUARD, useClass: NobodyPasses }]);
    const closed = await startApp({ ...guarded, controllers: [Echo] }, { adapter });
    expect((await fetch(`${closed.url}/echo`, { method: 'POST' })).status).toBe(403);
    expect((await send(closed.url, 'topics/order-timeout')).status).toBe(204);
  });

  it('is mounted where it is told to be, and gets along with rawBody', async () => {
    const module = withModule(optionsOf({ callbackPath: '/hooks/x' }), [Shop]);
    const { app, url } = await startApp(module, { adapter, options: { rawBody: true } });
    const sent = { body: '{ "spaced" : 1 }' };
    expect((await send(url, 'topics/order-timeout', sent)).status).toBe(404);
    expect((await send(url, 'topics/order-timeout', { ...sent, path: '/hooks/x' })).status).toBe(204);
    expect(app.get(Shop).seen[0]!.payload).toEqual({ spaced: 1 });
  });
});

it('calls controllers, factory-made, inherited and request-scoped providers', async () => {
  const seen: string[] = [];
  class Base {
    @DelayConsumer('inherited')
    run() {
      seen.push(`${this.constructor.name} inherited`);
    }
  }
  @Injectable()
  class Derived extends Base {}
  class Made {
    @DelayConsumer('made')
    @DelayConsumer('made-too')
    run(payload: unknown) {
      seen.push(`made ${payload}`);
    }
  }
  @Injectable({ scope: Scope.REQUEST })
  class PerCall {
    private readonly id = Math.random();
    static readonly ids = new Set<number>();
    @DelayConsumer('scoped')
    run(payload: unknown) {
      PerCall.ids.add(this.id);
      seen.push(`scoped ${payload}`);
    }
  }
  @Controller('c')
  class InController {
    @DelayConsumer('controller')
    run() {
      seen.push('controller');
    }
  }
  const providers = [
    Derived,
    PerCall,
    { provide: 'MADE', useFactory: async () => new Made() },
    { provide: 'ALIAS', useExisting: 'MADE' },
    { provide: 'VALUE', useValue: { plain: true } },
    { provide: 'NULL', useValue: null },
  ];
  const { url } = await startApp({ ...withModule(optionsOf(), providers), controllers: [InController] });
  for (const topic of ['inherited', 'made', 'made-too', 'scoped', 'scoped', 'controller']) {
    expect((await send(url, `topics/${topic}`, { body: '1' })).status, topic).toBe(204);
  }
  expect(seen).toEqual(['Derived inherited', 'made 1', 'made 1', 'scoped 1', 'scoped 1', 'controller']);
  expect(PerCall.ids.size).toBe(2);
});

describe('with dedupe', () => {
  const setup = async () => {
    const claimed = new Set<string>();
    const dedupe = {
      async claim(key: string, run: (transaction: unknown) => Promise<unknown>) {
        if (claimed.has(key)) return;
        const result = await run(`transaction of ${key}`);
        claimed.add(key);
        return result;
      },
    };
    const { app, url } = await startApp(withModule(optionsOf({ dedupe }), [Shop]));
    return { url, shop: app.get(Shop) };
  };

  it('runs once for a key, in the transaction that claims it', async () => {
    const { url, shop } = await setup();
    shop.behave = () => 'done';
    const taskId = '4294967297_1793000000009';
    expect(await send(url, 'topics/order-timeout', { taskId })).toMatchObject({ status: 200, data: 'done' });
    expect(await send(url, 'topics/order-timeout', { taskId })).toMatchObject({
      status: 200,
      data: { duplicate: true },
    });
    expect(shop.seen.map(({ context }) => context.transaction)).toEqual([`transaction of ${taskId}`]);
    expect((await send(url, 'topics/order-timeout')).data).toBe('done');
  });

  it('keeps no claim of an attempt that failed', async () => {
    const { url, shop } = await setup();
    shop.behave = () => Promise.reject(new Error('no'));
    expect((await send(url, 'topics/order-timeout')).status).toBe(500);
    shop.behave = () => 'done';
    expect((await send(url, 'topics/order-timeout')).data).toBe('done');
  });
});
