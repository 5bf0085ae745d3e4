import { Inject, Injectable } from '@nestjs/common';
import { type AddressGuard, headerProblem, urlProblem } from '@xtimer/callback';
import type { NotifyHttpParam } from '@xtimer/pipeline';
import { CALLBACK_GUARD } from '../../tokens.js';
import { invalidInput } from '../api-error.js';

/** What the schemas can't know: where this installation lets callbacks go, and what its HTTP client can send. */
@Injectable()
export class TargetCheck {
  constructor(@Inject(CALLBACK_GUARD) private readonly guard: AddressGuard) {}

  /** Throws a 400 that names the field. */
  check({ url, header }: NotifyHttpParam): void {
    const problem = urlProblem(url, this.guard);
    if (problem) {
      throw invalidInput([{ field: 'notifyHTTPParam.url', value: url, expected: `another URL: ${problem}` }]);
    }
    for (const [name, value] of Object.entries(header)) {
      const problem = headerProblem(name, value);
      // The value may be a secret; the problem names the header.
      if (problem) {
        throw invalidInput([
          { field: `notifyHTTPParam.header.${name}`, value: '***', expected: `another: ${problem}` },
        ]);
      }
    }
  }
}
