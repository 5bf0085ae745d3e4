import { expect, it } from 'vitest';
import { differences } from './differences.js';

const current = {
  cron: '0 0 3 * * ?',
  retry: { maxAttempts: 5, factor: 2 },
  success: { status: ['2xx'] },
  notifyHTTPParam: { method: 'POST', url: 'http://a.example/x', header: { a: '1' }, body: null },
};

it('finds what differs, and only that', () => {
  const wanted = { cron: '0 0 4 * * ?', retry: { maxAttempts: 5 }, success: { status: ['2xx', '404'] } };
  expect(differences(wanted, current)).toEqual({ cron: '0 0 4 * * ?', success: { status: ['2xx', '404'] } });
  expect(differences({ retry: { maxAttempts: 3 } }, current)).toEqual({ retry: { maxAttempts: 3 } });
});

it('leaves alone what is left out, at any depth', () => {
  const wanted = { timezone: undefined, retry: {}, notifyHTTPParam: { method: 'POST', header: { a: '1' } } };
  expect(differences(wanted, current)).toEqual({});
});
