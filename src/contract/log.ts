/** The one logging surface. Values of known secrets are removed before a line is written. */
export interface Log {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
  /** A log whose lines carry these fields too. */
  child(fields: Record<string, unknown>): Log;
}
