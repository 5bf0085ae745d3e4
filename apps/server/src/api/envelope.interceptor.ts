import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { datetimeOf } from '@xtimer/contracts';
import { map, type Observable } from 'rxjs';

@Injectable()
export class EnvelopeInterceptor implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next
      .handle()
      .pipe(map((data) => ({ code: 0, message: 'ok', datetime: datetimeOf(Date.now()), data: data ?? {} })));
  }
}
