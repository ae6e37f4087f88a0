/**
 * The sentences that a person reads when a turn did not end with an answer. They are fixed: what a provider or a thrown error said
 * goes to the log under the reference that the sentence carries, never into a chat.
 */
import type { ErrorCode } from '../contract/errors.ts';
import type { ModelFailure } from '../contract/model.ts';

export interface Fault {
  code: ErrorCode;
  text: string;
}

const ofModel: Record<ModelFailure, Fault> = {
  auth: { code: 'MODEL_AUTH', text: 'The model provider refused the key of this bot. Whoever runs it has to set a valid key.' },
  quota: { code: 'MODEL_QUOTA', text: 'The quota of this bot at its model provider is used up. Whoever runs it has to top it up.' },
  rate_limited: { code: 'MODEL_RATE_LIMITED', text: 'The model provider is limiting requests. Please try again in a few minutes.' },
  overflow: { code: 'MODEL_OVERFLOW', text: 'This conversation no longer fits the model. Send /new to start a fresh one.' },
  bad_request: { code: 'MODEL_UNAVAILABLE', text: 'The model provider did not accept the request. Send /new to start fresh if it happens again.' },
  unavailable: { code: 'MODEL_UNAVAILABLE', text: 'The model provider cannot be reached at the moment. Please try again later.' },
  timeout: { code: 'MODEL_UNAVAILABLE', text: 'The model provider did not answer in time. Please try again.' },
  cut: { code: 'MODEL_CUT', text: 'The connection to the model broke before an answer was complete. Please try again.' },
  bad_answer: { code: 'MODEL_BAD_ANSWER', text: 'The model gave an answer that cannot be used. Please try again.' },
  aborted: { code: 'TURN_INTERRUPTED', text: 'Stopped.' },
};

/** Last characters of the turn's id: short enough to read out, and found in the log by a plain search. */
export function toReference(turnId: string): string {
  return turnId.slice(-8);
}

export function toModelFault(failure: ModelFailure, turnId: string): Fault {
  const { code, text } = ofModel[failure];
  return { code, text: withReference(text, turnId) };
}

export function toEmptyAnswerFault(turnId: string): Fault {
  return { code: 'MODEL_BAD_ANSWER', text: withReference('The model gave no answer that can be shown. Please ask again, perhaps in other words.', turnId) };
}

export function toRefusalFault(turnId: string): Fault {
  return { code: 'MODEL_BAD_ANSWER', text: withReference('The model provider withheld the answer because of its content rules.', turnId) };
}

export function toInternalFault(code: ErrorCode, turnId: string): Fault {
  return { code, text: withReference('Something went wrong inside this bot. Please try again.', turnId) };
}

/** The model ran in a circle; `what` says how. */
export function toLoopFault(what: string): Fault {
  return { code: 'TURN_STOPPED', text: `I stopped here: ${what}. Please ask in another way.` };
}

export function toTimeoutFault(timeoutMs: number): Fault {
  const minutes = timeoutMs / 60_000;
  const span = minutes >= 1 ? `${Math.round(minutes)} min` : `${Math.round(timeoutMs / 1000)} s`;
  return { code: 'TURN_TIMEOUT', text: `I stopped here: this took longer than the ${span} that one message may take.` };
}

export const stopped: Fault = ofModel.aborted;

/** What arrived before the stream broke, marked so that nobody takes it for the whole answer. */
export function toCutFault(partialText: string): Fault {
  return { code: 'MODEL_CUT', text: `${partialText.trim()}\n\n⚠ This answer was cut off. Ask me to continue if you need the rest.` };
}

export const lengthNote = '⚠ The answer ends here because it reached the model\'s length limit. Ask me to continue if you need the rest.';

function withReference(text: string, turnId: string): string {
  return `⚠ ${text} (ref ${toReference(turnId)})`;
}
