/**
 * The one error class and its one code table. docs/errors.md is held equal to this table by a test.
 * A message says what happened and what to do next; it never holds a secret or a provider's body.
 */
export const errorCodes = {
  CONFIG_INVALID: 'The configuration cannot be used. Every problem is listed as file:line:column key reason.',
  CONFIG_KEY_UNKNOWN: 'A configuration key that does not exist was asked for.',
  HOME_UNUSABLE: 'The home folder cannot be created or written.',
  HOME_LOCKED: 'Another daemon is using this home folder.',
  TOKEN_IN_USE: 'Another process on this machine listens with the same token.',
  STORE_UNAVAILABLE: 'The database cannot be written now. Nothing was confirmed; the platform delivers it again.',
  STORE_TOO_NEW: 'The database was written by a newer version of the program.',
  STORE_CORRUPT: 'The database is damaged. It is left as it is; restore a backup or move it away.',
  HISTORY_INVALID: 'A history that breaks the grammar was about to be written. This is a defect of the program.',
  MODEL_AUTH: 'The model provider refused the key.',
  MODEL_QUOTA: 'The model provider says that the quota or the balance is used up.',
  MODEL_RATE_LIMITED: 'The model provider is limiting requests and no fallback answered.',
  MODEL_OVERFLOW: 'The conversation does not fit the context window even after compaction.',
  MODEL_UNAVAILABLE: 'The model provider could not be reached or failed.',
  MODEL_BAD_ANSWER: 'The model answered with nothing that can be shown.',
  MODEL_CUT: 'The answer was cut off in the middle.',
  TURN_TIMEOUT: 'The turn took longer than agent.turn_timeout_s.',
  TURN_INTERRUPTED: 'The turn was ended by /stop, a newer message or the end of the process.',
  TURN_STOPPED: 'The turn repeated itself or used up its steps without an answer.',
  TURN_QUARANTINED: 'The process died repeatedly while it ran this message; it is not tried again.',
  TURN_FAILED: 'The turn ended by a fault inside the program.',
  QUEUE_FULL: 'Too many messages are waiting in this chat.',
  BUDGET_EXCEEDED: 'A budget of the configuration is used up.',
  PLUGIN_INVALID: 'A plugin cannot be loaded.',
  TOOL_INVALID: 'A tool definition cannot be registered.',
  TOOLSET_UNKNOWN: 'A toolset name that does not exist was used.',
  ADAPTER_OFF: 'The platform is switched off or not configured.',
  ADAPTER_AUTH: 'The platform refused the token.',
  ADDRESS_INVALID: 'An address is not PLATFORM:CHAT or PLATFORM:CHAT:THREAD.',
  ATTACHMENT_TOO_LARGE: 'An attachment is larger than allowed.',
  SESSION_UNKNOWN: 'There is no such session, or it belongs to somebody else.',
  USAGE: 'The command line cannot be understood.',
  REQUEST_INVALID: 'An HTTP request cannot be understood.',
} as const;

export type ErrorCode = keyof typeof errorCodes;

export class HermesError extends Error {
  override readonly name = 'HermesError';
  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** The text of anything that was thrown, without a stack. */
export function toMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
