import { ErrorCode, messageOf, type Problem } from '@xtimer/contracts';

/** A refusal as the API words it. `data` goes out as it is: no secrets. */
export class ApiError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly data: Record<string, unknown> = {},
    readonly headers: Record<string, string> = {},
  ) {
    super(message);
    this.name = 'ApiError';
  }

  get status(): number {
    return Math.floor(this.code / 100);
  }
}

/** 400 for one or more mistakes in the input. */
export function invalidInput(problems: readonly Problem[]): ApiError {
  const message = problems.slice(0, 5).map(messageOf).join('; ') + (problems.length > 5 ? '; …' : '');
  return new ApiError(ErrorCode.invalid, message, {
    ...problems[0],
    ...(problems.length > 1 && { problems: problems.slice(0, 50) }),
  });
}

/** The same words for what does not exist and for what belongs to another app. */
export const notFound = (field: 'timerId' | 'taskId' | 'app', value: unknown): ApiError =>
  new ApiError(ErrorCode.notFound, `there is no ${field === 'app' ? 'app' : field.slice(0, -2)} ${value}`, {
    field,
    value,
    expected: field === 'app' ? 'an app that has timers' : `the ${field} of an existing ${field.slice(0, -2)}`,
  });
