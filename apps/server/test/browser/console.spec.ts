import { existsSync } from 'node:fs';
import type { TestServer } from '@xtimer/testkit';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callsOf, openWorld, until } from '../e2e/support.js';

const executablePath = process.env.XTIMER_TEST_CHROMIUM || '/usr/bin/chromium';
const missing = !existsSync(executablePath);
if (missing) console.warn(`! browser: no Chromium at ${executablePath}: the console is not tested`);

const ARGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

const { receiver, start } = await openWorld('embedded');

// The limit only ends what hangs: two busy cores make a page slow.
const LIMIT = { timeout: 180_000 };

describe.skipIf(missing && process.env.CI !== 'true')('browser: the console', LIMIT, () => {
  let server: TestServer;
  let browser: Browser;
  beforeAll(async () => {
    [server, browser] = await Promise.all([start(), chromium.launch({ executablePath, args: ARGS })]);
  });
  afterAll(() => browser?.close());

  /** A page of its own, and everything it complains about. */
  async function open(path = '/'): Promise<{ page: Page; context: BrowserContext; complaints: string[] }> {
    const context = await browser.newContext({ locale: 'en-US', timezoneId: 'Asia/Tokyo', colorScheme: 'light' });
    context.setDefaultTimeout(45_000);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (line) => {
      if (line.type() === 'error' || line.type() === 'warning') complaints.push(line.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.goto(server.url + path);
    return { page, context, complaints };
  }

  const signIn = async (page: Page, token = server.token) => {
    await page.getByLabel('Admin token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name });

  it('takes a pasted curl to a timer that fires, is seen, and is paused', async () => {
    const { page, context, complaints } = await open();
    await signIn(page, 'a-wrong-token');
    await page.getByText('xtimer does not know this token.').waitFor();
    // Chromium itself reports the refusal.
    expect(complaints.splice(0)).toEqual([expect.stringContaining('401')]);
    await signIn(page);
    await page.getByRole('heading', { name: 'No timers yet' }).waitFor();

    await page.getByRole('button', { name: 'New timer' }).first().click();
    await page.getByRole('button', { name: 'Paste a curl command' }).click();
    const command = `curl -X PUT '${receiver.url}/echo/from-curl' \\
      -H 'X-Env: prod' -H 'Content-Type: application/json' \\
      --data-raw '{"task":"{{taskId}}","html":"<b onclick=\\"x\\">bold</b>"}'`;
    await page.getByRole('textbox', { name: 'curl command' }).fill(command);
    await page.getByRole('button', { name: 'Fill the form' }).click();
    await page
      .getByLabel('URL', { exact: true })
      .and(page.locator(`[value="${receiver.url}/echo/from-curl"]`))
      .waitFor();
    await page.getByText('valid JSON').waitFor();

    await page.getByRole('button', { name: 'Test call' }).click();
    await page.getByText('Counts as a success').waitFor();
    expect(receiver.calls.map(({ method, path }) => [method, path])).toEqual([['PUT', '/echo/from-curl']]);

    await page.getByLabel('Name', { exact: true }).fill('from a curl');
    await page.getByLabel('App', { exact: true }).fill('shop');
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    await page.getByLabel('Cron expression').fill('0/2 * * * * ?');
    await page.getByText(/every 2 seconds/i).waitFor();
    expect(await page.getByRole('status', { name: 'Next fires' }).locator('tbody tr').count()).toBe(10);
    await page.getByRole('button', { name: 'Create timer' }).click();
    await heading(page, /from a curl.*Active/).waitFor();
    const timerId = Number(new URL(page.url()).pathname.split('/').at(-1));
    const [call] = await until('it fires', () => {
      const calls = callsOf(receiver, timerId);
      return calls.length > 0 && calls;
    });
    expect(call).toMatchObject({ method: 'PUT', headers: { 'x-env': 'prod' } });

    await page.getByRole('switch', { name: 'Live' }).click();
    await page
      .getByRole('button', { name: /^Open the run planned for/ })
      .last()
      .click();
    const drawer = page.getByRole('dialog', { name: 'One run' });
    await drawer.getByText('Succeeded').waitFor();
    // The output is the receiver's echo; what looks like markup in it stays text.
    await drawer.getByText('"path": "/echo/from-curl"').waitFor();
    await drawer.getByText('<b onclick=').waitFor();
    expect(await page.locator('b').count()).toBe(0);
    expect(new URL(page.url()).searchParams.get('task')).toMatch(new RegExp(`^${timerId}_`));
    await drawer.getByRole('button', { name: 'Close' }).click();
    await drawer.waitFor({ state: 'hidden' });

    await page.getByRole('button', { name: 'Pause' }).click();
    await heading(page, /from a curl.*Paused/).waitFor();
    await until('the server knows', async () => {
      const { data } = await server.api(`/xtimer/getTimer?timerId=${timerId}`);
      return data.status === 1;
    });
    // The server's answer, not only the hope of it: enabling at once is too soon.
    await page.getByText('from a curl is paused').waitFor();
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByText(/changed a moment ago/).waitFor();
    await heading(page, /from a curl.*Paused/).waitFor();
    expect(complaints.splice(0)).toEqual([expect.stringContaining('429')]);

    await page.getByText('中文').click();
    await page.getByRole('heading', { name: '接下来的触发' }).waitFor();
    // By keyboard, as it has to be possible.
    await page.getByRole('radio', { name: '深色' }).press('Space');
    await page.reload();
    await page.getByRole('heading', { name: '接下来的触发' }).waitFor();
    const shown = {
      lang: await page.locator('html').getAttribute('lang'),
      theme: await page.locator('html').getAttribute('data-theme'),
    };
    expect(shown).toEqual({ lang: 'zh-CN', theme: 'dark' });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it('asks to sign in again over a half-typed form, and loses nothing', async () => {
    const { page, context, complaints } = await open('/timers/new');
    await signIn(page);
    await page.getByLabel('Name', { exact: true }).fill('half typed');
    const refused = { code: 40100, message: 'no', datetime: '', data: {} };
    await page.route('**/xtimer/previewCron', (route) => route.fulfill({ status: 401, json: refused }));
    await page.getByLabel('Cron expression').fill('0 30 2 * * ?');
    const dialog = page.getByRole('dialog', { name: 'Sign in again' });
    await dialog.waitFor();
    await page.unroute('**/xtimer/previewCron');
    await dialog.getByLabel('Admin token').fill(server.token);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByText(/02:30/).first().waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('half typed');
    expect(await page.getByLabel('Cron expression').inputValue()).toBe('0 30 2 * * ?');
    expect(complaints.filter((complaint) => !complaint.includes('401'))).toEqual([]);
    await context.close();
  });

  it('says what is wrong at the field, and asks before it throws away', async () => {
    const { page, context, complaints } = await open('/timers/new');
    await signIn(page);
    await page.getByLabel('Cron expression').fill('0 30 25 * * ?');
    await page.getByText(/hours: "25" at position 5 is not valid/).waitFor();
    await page.getByRole('button', { name: 'Create timer' }).click();
    await page.getByText('an http:// or https:// URL such as').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
    await page.getByRole('button', { name: 'Stay' }).click();
    expect(new URL(page.url()).pathname).toBe('/timers/new');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Leave' }).click();
    await heading(page, 'Timers').waitFor();
    // Chromium reports the 400 for the cron that is none.
    expect(complaints.filter((complaint) => !complaint.includes('400'))).toEqual([]);
    await context.close();
  });
});
