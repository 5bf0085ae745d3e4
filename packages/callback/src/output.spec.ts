import { describe, expect, it } from 'vitest';
import { describeBody, type ReceivedBody } from './output.js';

const body = (bytes: Buffer | string, changes: Partial<ReceivedBody> = {}): ReceivedBody => ({
  bytes: Buffer.from(bytes as string),
  cut: false,
  total: null,
  contentType: '',
  contentEncoding: '',
  ...changes,
});

describe('describeBody', () => {
  it('keeps text as it is, four-byte characters included', () => {
    expect(describeBody(body('⏰ 👨‍👩‍👧‍👦 𠮷'), 4096)).toBe('⏰ 👨‍👩‍👧‍👦 𠮷');
    expect(describeBody(body(''), 4096)).toBeNull();
  });

  it('reads other charsets', () => {
    const gbk = Buffer.from('c4e3bac3', 'hex');
    expect(describeBody(body(gbk, { contentType: 'text/plain; charset=gbk' }), 4096)).toBe('你好');
    expect(
      describeBody(body(Buffer.from('caf\xe9', 'latin1'), { contentType: 'text/html; charset="ISO-8859-1"' }), 99),
    ).toBe('café');
    expect(describeBody(body('ü', { contentType: 'text/plain; charset=nonsense' }), 99)).toBe('ü');
  });

  it('marks what was cut, at a character boundary and within the limit', () => {
    const bytes = Buffer.from('⏰'.repeat(100));
    const text = describeBody(body(bytes.subarray(0, 100), { cut: true, total: 300 }), 100)!;
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(100);
    const [, kept, count] = /^(⏰+)\n… \[truncated: (\d+) of 300 bytes kept\]$/.exec(text)!;
    expect(Buffer.byteLength(kept!)).toBe(Number(count));
    expect(describeBody(body('x'.repeat(100), { cut: true }), 100)).toMatch(/^x+\n… \[truncated: \d+ bytes kept\]$/);
  });

  it('cuts what grows by decoding', () => {
    const latin = body(Buffer.alloc(100, 0xe9), { contentType: 'text/plain; charset=latin1', total: 100 });
    expect(Buffer.byteLength(describeBody(latin, 100)!)).toBeLessThanOrEqual(100);
  });

  it('turns what is not text into a note', () => {
    expect(describeBody(body(Buffer.from([0, 255, 1])), 4096)).toBe('[binary, 3 bytes, base64: AP8B]');
    const png = body(Buffer.alloc(4096, 0xff), { contentType: 'image/png', cut: true, total: 300_000 });
    expect(describeBody(png, 4096)).toMatch(/^\[binary, 300000 bytes \(image\/png\), base64 of the first 96: \/+\]$/);
    const gzip = body('not looked at', { contentType: 'text/plain', contentEncoding: 'gzip' });
    expect(describeBody(gzip, 4096)).toMatch(/^\[binary, 13 bytes \(text\/plain, gzip\), base64: /);
  });

  it('leaves nothing that a database refuses', () => {
    expect(describeBody(body('a\0b', { contentType: 'text/plain' }), 4096)).toBe('a␀b');
    const lone = body(Buffer.from('00d8610000', 'hex'), { contentType: 'text/plain; charset=utf-16le' });
    expect(describeBody(lone, 4096)).toContain('\ufffd');
    expect(describeBody(lone, 4096)).not.toMatch(/[\ud800-\udfff]/);
    expect(describeBody(body(Buffer.from([0x61, 0xff]), { contentType: 'text/plain' }), 4096)).toBe('a\ufffd');
  });
});
