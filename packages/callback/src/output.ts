import { isUtf8 } from 'node:buffer';

/** How a received body is described. */
export interface ReceivedBody {
  /** What was kept, at most the limit. */
  bytes: Buffer;
  /** More came, or would have come. */
  cut: boolean;
  /** From Content-Length; `null`: not told. */
  total: number | null;
  contentType: string;
  contentEncoding: string;
}

const DECLARED_TEXT =
  /^(text\/|application\/(.*\+)?(json|xml)\b|application\/(javascript|x-www-form-urlencoded|yaml)\b)/i;
const BASE64_BYTES = 96;

/**
 * The body as text that any database stores as it is: no NUL, no lone surrogate, at most `limit` bytes of UTF-8
 * with the mark of what was cut. What is no text becomes a note with a base64 excerpt. `null`: there was no body.
 */
export function describeBody(body: ReceivedBody, limit: number): string | null {
  if (body.bytes.length === 0) return null;
  const text = decode(body);
  if (text === null) return cutTo(binaryNote(body), limit);
  // A third: UTF-8 needs at most three bytes for each UTF-16 unit. Most answers are short enough not to be measured.
  if (!body.cut && (text.length * 3 <= limit || Buffer.byteLength(text) <= limit)) return text;
  // The mark names the number of bytes kept, which depends on the mark's length: leave room for the longest.
  const of = body.total === null ? '' : ` of ${body.total}`;
  const kept = cutTo(text, limit - Buffer.byteLength(mark(limit, of)));
  return kept + mark(Buffer.byteLength(kept), of);
}

const mark = (bytes: number, of: string): string => `\n… [truncated: ${bytes}${of} bytes kept]`;

/** `null`: not text. */
function decode(body: ReceivedBody): string | null {
  if (body.contentEncoding !== '' && body.contentEncoding !== 'identity') return null;
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(body.contentType)?.[1];
  if (charset && !/^utf-?8$/i.test(charset)) {
    try {
      // `stream` holds back a character of which only the first bytes were kept.
      return withoutNul(new TextDecoder(charset).decode(body.bytes, { stream: body.cut }));
    } catch {
      // A charset nobody knows: judge the bytes themselves.
    }
  }
  const bytes = body.cut ? wholeCharacters(body.bytes) : body.bytes;
  const declared = charset !== undefined || DECLARED_TEXT.test(body.contentType);
  if (isUtf8(bytes) && (declared || !bytes.includes(0))) return withoutNul(bytes.toString());
  // Declared as text: replacement characters for what is not UTF-8 say more than base64 would.
  return declared ? withoutNul(bytes.toString()) : null;
}

const withoutNul = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '\u2400') : text);

function binaryNote(body: ReceivedBody): string {
  const size = body.total ?? (body.cut ? `more than ${body.bytes.length}` : body.bytes.length);
  const what = [body.contentType, body.contentEncoding].filter((one) => one !== '').join(', ');
  const excerpt = body.bytes.subarray(0, BASE64_BYTES);
  const part = body.cut || body.bytes.length > BASE64_BYTES ? ` of the first ${excerpt.length}` : '';
  return `[binary, ${size} bytes${what && ` (${what.slice(0, 100)})`}, base64${part}: ${excerpt.toString('base64')}]`;
}

function cutTo(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  return encoded.length <= bytes ? text : wholeCharacters(encoded.subarray(0, Math.max(bytes, 0))).toString();
}

/** Leaves out a last UTF-8 character of which only a part is there. */
function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}
