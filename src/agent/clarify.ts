/**
 * The clarify tool: a question of the agent to the person, in the middle of a turn. The surface brings `ask`; here arguments of
 * every shape that models write become questions, and what the person wrote becomes an answer.
 */
import { toMessage } from '../contract/errors.ts';
import type { AgentTool, ToolArgs, ToolContext } from '../contract/tool.ts';

/**
 * Shows a question and waits for the person's next message. Resolves with it as written, or with null when nobody answered in
 * time. `choices` are what the person sees; empty for an open question.
 */
export type Ask = (question: string, choices: string[], context: ToolContext) => Promise<string | null>;

const maxChoices = 4;
const maxQuestions = 5;
const recommended = ' (Recommended)';
const nobodyAnswered = 'Nobody answered in time. Decide by your own judgement and say which choice you made.';

interface Question {
  question: string;
  choices: string[];
  multiple: boolean;
}

/** Without `ask` every call answers that nobody can be asked here. */
export function createClarify(ask: Ask | undefined): AgentTool {
  return async (args, context) => {
    if (!ask) return toError('clarify is not available in this execution context');
    const batch = Array.isArray(args.questions) ? args.questions.filter(isRecord) : null;
    const questions = (batch ?? [args]).map(toQuestion);
    if (questions.length === 0 || questions.some(({ question }) => question === '')) return toError('clarify needs a question');
    if (questions.length > maxQuestions) return toError(`clarify takes ${maxQuestions} questions at most`);
    const responses = [];
    let timedOut = false;
    for (const asked of questions) {
      const shown = asked.choices.map((choice, i) => (i === 0 && asked.choices.length > 1 ? choice + recommended : choice));
      let reply: string | null;
      try {
        reply = timedOut ? null : await ask(asked.question, shown, context);
      } catch (thrown) {
        return toError(`The question could not be asked: ${toMessage(thrown)}`);
      }
      timedOut ||= reply === null;
      responses.push({ question: asked.question, choices_offered: asked.choices, user_response: reply === null ? nobodyAnswered : toAnswer(reply, asked) });
    }
    return JSON.stringify(batch ? { responses, ...(timedOut && { timed_out: true }) } : responses[0]);
  };
}

function toQuestion(args: ToolArgs): Question {
  const choices = Array.isArray(args.choices) ? args.choices.map(toChoice).filter(Boolean) : [];
  return {
    question: typeof args.question === 'string' ? args.question.trim() : '',
    choices: [...new Set(choices)].slice(0, maxChoices),
    multiple: args.multi_select === true,
  };
}

/** Models write choices as strings, numbers or objects; an object's first telling field counts. */
function toChoice(choice: unknown): string {
  const value = isRecord(choice) ? [choice.label, choice.description, choice.text, choice.title].find((field) => typeof field === 'string' && field.trim()) : choice;
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  return text.toLowerCase().endsWith(recommended.toLowerCase()) ? text.slice(0, -recommended.length).trim() : text;
}

/** Numbers and option texts become the options; everything else stands as it was written. */
function toAnswer(reply: string, { choices, multiple }: Question): string | string[] {
  const whole = pick(reply, choices);
  if (!multiple) return whole ?? reply.trim();
  if (whole !== null) return [whole];
  const picked = reply.split(/[,;\n]|\s+and\s+|(?<=\d)\s+(?=\d)/).map((part) => pick(part, choices));
  return picked.every((choice) => choice !== null) ? [...new Set(picked)] : reply.trim();
}

function pick(reply: string, choices: string[]): string | null {
  const text = reply.trim().replace(/\s*\(recommended\)$/i, '').toLowerCase();
  const number = /^#?(\d+)[.)]?$/.exec(text)?.[1];
  const exact = choices.find((choice) => choice.toLowerCase() === text);
  return exact ?? (number ? (choices[Number(number) - 1] ?? null) : null);
}

function toError(error: string): string {
  return JSON.stringify({ error });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
