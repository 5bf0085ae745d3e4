import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';

/** Structured logs on stdout, one JSON object a line. */
export const createLog = (level: string, nodeId?: string): Logger =>
  pino({
    level,
    base: nodeId ? { node: nodeId } : {},
    redact: {
      paths: ['authorization', 'token', 'secret', 'password', '*.authorization', '*.token', '*.secret', '*.password'],
      censor: '***',
    },
    serializers: { error: pino.stdSerializers.err },
    timestamp: pino.stdTimeFunctions.isoTime,
  });

/** Nest's own messages; its start-up chatter is debug to us. */
export class NestLog implements LoggerService {
  constructor(private readonly logger: Logger) {}
  log(message: unknown, context?: string): void {
    this.logger.debug({ context }, String(message));
  }
  warn(message: unknown, context?: string): void {
    this.logger.warn({ context }, String(message));
  }
  error(message: unknown, ...details: unknown[]): void {
    if (message instanceof Error) this.logger.error({ error: message }, message.message);
    else this.logger.error({ details }, String(message));
  }
  fatal(message: unknown, ...details: unknown[]): void {
    this.logger.fatal({ details }, String(message));
  }
  debug(message: unknown, context?: string): void {
    this.logger.debug({ context }, String(message));
  }
  verbose(message: unknown, context?: string): void {
    this.logger.trace({ context }, String(message));
  }
}
