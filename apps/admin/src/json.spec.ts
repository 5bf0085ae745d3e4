import { expect, it } from 'vitest';
import { formatBody, jsonProblem, prettyJson } from './json.js';

it('lays JSON out, and leaves alone what would lose by it', () => {
  expect(prettyJson('{"a":[1,"x y"]}')).toBe('{\n  "a": [\n    1,\n    "x y"\n  ]\n}');
  expect(prettyJson('{"a":"\\u4f60"}')).toBe('{\n  "a": "你"\n}');
  expect(prettyJson('{"id":12345678901234567890}')).toBeNull();
  expect(prettyJson('{"a":1,"a":2}')).toBeNull();
  expect([prettyJson('plain'), prettyJson('{"cut":'), prettyJson('<b>{}</b>'), prettyJson('17')]).toEqual(
    Array(4).fill(null),
  );
});

it('checks and lays out a body with placeholders', () => {
  expect(jsonProblem('{"n":{{attempt}},"at":"{{scheduledTime}}"}')).toBeNull();
  expect(jsonProblem('{"n":}')).toMatch(/./);
  expect(formatBody('{"n":{{attempt}},"p":{{payload}},"at":"{{scheduledTime}}"}')).toBe(
    '{\n  "n": {{attempt}},\n  "p": {{payload}},\n  "at": "{{scheduledTime}}"\n}',
  );
  expect(formatBody('{{payload}}')).toBeNull();
});
