/**
 * Questions that a running turn waits for: a clarification, or consent to a tool call. A question is bound to its lane and to
 * the person whose turn it is; it is answered once, by a button, a command or (clarifications) that person's next message.
 */
import { randomBytes } from 'node:crypto';
import type { Button } from '../contract/message.ts';

export interface Answer {
  /** Index of the choice, or null for free text. */
  choice: number | null;
  text: string;
  by: string;
}

export interface Question {
  lane: string;
  /** The only person who may answer. */
  senderId: string;
  /** Consent is never given by plain text. */
  kind: 'clarify' | 'approval';
  choices: string[];
  timeoutMs: number;
  signal: AbortSignal;
}

export interface Questions {
  /** Resolves with the answer, or null after the time-out, an abort or a cancel. `ask` shows the question. */
  ask(question: Question, show: (buttons: Button[][]) => Promise<void> | void): Promise<Answer | null>;
  /** A message of this person in this lane: true when it answered a clarification and is used up. */
  answerByText(lane: string, senderId: string, text: string): boolean;
  /** A pressed button. `unknown`: not ours, used, expired or after a restart. */
  answerByButton(value: string, lane: string, senderId: string): 'answered' | 'not_yours' | 'unknown';
  /** `/approve` and `/deny`: answers the oldest consent question that this person may answer. */
  answerApproval(lane: string, senderId: string, choice: number): boolean;
  /** Releases everything that waits in the lane. */
  cancel(lane: string): void;
}

interface Pending extends Question {
  id: string;
  settle(answer: Answer | null): void;
}

const buttonPattern = /^q:([0-9a-f]{32}):(\d+)$/;

export function createQuestions(): Questions {
  const pending = new Map<string, Pending>();
  const inLane = (lane: string, kind: Question['kind']) => [...pending.values()].filter((each) => each.lane === lane && each.kind === kind);

  return {
    async ask(question, show) {
      // 128 random bits: a forged or remembered button value leads nowhere.
      const id = randomBytes(16).toString('hex');
      const answered = new Promise<Answer | null>((resolve) => {
        const timer = setTimeout(() => settle(null), question.timeoutMs);
        const onAbort = () => settle(null);
        const settle = (answer: Answer | null) => {
          clearTimeout(timer);
          question.signal.removeEventListener('abort', onAbort);
          pending.delete(id);
          resolve(answer);
        };
        question.signal.addEventListener('abort', onAbort, { once: true });
        pending.set(id, { ...question, id, settle });
        if (question.signal.aborted) settle(null);
      });
      try {
        await show(question.choices.map((label, index) => [{ label, value: `q:${id}:${index}` }]));
      } catch (thrown) {
        // Nobody has seen it, so nobody's next message may be taken for its answer.
        pending.get(id)?.settle(null);
        throw thrown;
      }
      return answered;
    },

    answerByText(lane, senderId, text) {
      const question = inLane(lane, 'clarify').find((each) => each.senderId === senderId);
      if (!question) return false;
      const picked = /^\s*\d+\s*$/.test(text) ? Number(text) - 1 : question.choices.findIndex((each) => each.toLowerCase() === text.trim().toLowerCase());
      const choice = question.choices[picked];
      question.settle(choice === undefined ? { choice: null, text, by: senderId } : { choice: picked, text: choice, by: senderId });
      return true;
    },

    answerByButton(value, lane, senderId) {
      const [, id = '', index = ''] = buttonPattern.exec(value) ?? [];
      const question = pending.get(id);
      const text = question?.choices[Number(index)];
      if (!question || text === undefined || question.lane !== lane) return question && question.lane !== lane ? 'not_yours' : 'unknown';
      if (question.senderId !== senderId) return 'not_yours';
      question.settle({ choice: Number(index), text, by: senderId });
      return 'answered';
    },

    answerApproval(lane, senderId, choice) {
      const question = inLane(lane, 'approval').find((each) => each.senderId === senderId);
      if (!question) return false;
      question.settle({ choice, text: question.choices[choice] ?? '', by: senderId });
      return true;
    },

    cancel(lane) {
      for (const each of pending.values()) if (each.lane === lane) each.settle(null);
    },
  };
}
