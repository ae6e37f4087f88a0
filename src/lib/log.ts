/** The one door to pino. Lines go to stderr (stdout belongs to answers) and pass the redactor as finished text. */
import { pino, type Logger } from 'pino';
import type { Log } from '../contract/log.ts';
import type { Redactor } from './redact.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LogOptions {
  level: LogLevel;
  redactor: Redactor;
  /** Where lines go; default stderr. Tests pass their own. */
  write?: (line: string) => void;
}

export function createLog(options: LogOptions): Log {
  const destination = { write: options.write ?? ((line: string) => void process.stderr.write(line)) };
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: (line) => options.redactor.text(line) },
    },
    destination,
  );
  return wrap(logger);
}

/** A log that keeps nothing, for callers that have none. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => silentLog };

function wrap(logger: Logger): Log {
  return {
    debug: (message, fields) => logger.debug(fields ?? {}, message),
    info: (message, fields) => logger.info(fields ?? {}, message),
    warn: (message, fields) => logger.warn(fields ?? {}, message),
    error: (message, fields) => logger.error(fields ?? {}, message),
    child: (fields) => wrap(logger.child(fields)),
  };
}
