/**
 * Which tools a message asks for, found by words alone: text -> clauses -> at most one tool each. The stand-in would rather
 * call nothing than something that nobody asked for, so a word that merely resembles a tool's name is not enough.
 */
import type { ToolDefinition } from '../contract/model.ts';

export interface ToolMention {
  tool: ToolDefinition;
  /** The part of the message that the arguments are taken from, without the words that name the tool. */
  rest: string;
}

const clauseEnd = /(?<=[.?!;])\s+|\n+|,?\s+(?:and then|then|and also|after that|and)\s+|;\s*/i;
const politeness = /^(?:(?:hi|hey|hello|ok|okay|well|so|now|please|kindly|also|and|then|first|finally|next)[,\s]+|(?:can|could|would|will) you (?:please )?|i(?:'d like| want| need) you to |let's )+/i;
const asking = /\b(?:use|call|run|invoke|try|execute|ask|using|with)\b/i;
/** Words of names that say nothing about what the tool is for. */
const plainWords = new Set(['get', 'fetch', 'run', 'do', 'make', 'show', 'list', 'find', 'look', 'up', 'tool', 'the', 'a', 'an', 'of', 'for', 'by', 'to']);
const calculatorWords = /^(?:calc\w*|calculator|comput\w*|math\w*|eval\w*|arithmetic)$/;
/** Arguments of tools that change something; such a tool is called by its name or not at all. */
const grave = /path|file|command|code|script|action|content|patch/i;
/** The only kind of text that a question, as against an order, may fill in. */
const harmless = /city|location|place|town|region|country|address|symbol|ticker|word|topic|query|^q$|expression/i;

/** Tools in the order in which the message asks for them. */
export function findMentions(text: string, tools: ToolDefinition[]): ToolMention[] {
  const mentions: ToolMention[] = [];
  let before = '';
  for (const clause of text.split(clauseEnd).map((clause) => clause.trim()).filter(Boolean)) {
    const mention = findMention(clause.replace(politeness, ''), tools);
    const last = mentions.at(-1);
    if (mention) mentions.push(mention.rest === '' && mentions.length === 0 ? { ...mention, rest: before } : mention);
    // "for London and Paris", "2 + 2 and 3": what names no tool belongs to the clause in front of it.
    else if (last) last.rest = `${last.rest} and ${clause}`.trim();
    else before = `${before} ${clause}`.trim();
  }
  return mentions;
}

function findMention(clause: string, tools: ToolDefinition[]): ToolMention | null {
  return findNamed(clause, tools) ?? findDescribed(clause, tools) ?? findOrdered(clause, tools) ?? findSum(clause, tools) ?? findQuestion(clause, tools);
}

/** "use the unit_convert tool", "use weather for London", or a name with an underscore anywhere. */
function findNamed(clause: string, tools: ToolDefinition[]): ToolMention | null {
  const byLength = tools.toSorted((a, b) => b.name.length - a.name.length);
  for (const tool of byLength) {
    const spelled = toWords(tool.name).map(escape).join('[\\s_-]*');
    const match = new RegExp(`(?:\\b(?:use|call|run|invoke|try|execute|ask|using|with)\\s+)?(?:the\\s+|my\\s+)?\\b${spelled}\\b(?:\\s+(?:tool|function|command|plugin))?`, 'i').exec(clause);
    if (!match) continue;
    const verbatim = /[_-]/.test(tool.name) && match[0].includes(tool.name);
    if (verbatim || asking.test(match[0]) || /\s(?:tool|function)$/i.test(match[0])) return { tool, rest: without(clause, match) };
  }
  return null;
}

/** "use the temperature tool": the words before "tool" are part of a name or stand in a description; "use the calculator" is a name alone. */
function findDescribed(clause: string, tools: ToolDefinition[]): ToolMention | null {
  const match = /\b(?:use|call|run|invoke|try|execute|ask|using|with)\s+(?:(?:the|a|an|your|my)\s+)?([\w\s-]{2,40}?)(?:[\s-]+(tool|function)\b|(?=\s+(?:to|for|on|with|in)\b|[\s.!]*$))/i.exec(clause);
  const wanted = toWords(match?.[1] ?? '').filter((word) => !plainWords.has(word));
  if (!match || wanted.length === 0) return null;
  const fits = (words: string[]) => wanted.every((word) => hasWord(words, word));
  const tool = match[2]
    ? (tools.find(({ name }) => fits(toWords(name))) ?? tools.find(({ name, description }) => fits([...toWords(name), ...toWords(description)])))
    : tools.find(({ name }) => fits(toWords(name)) && keyWords(name).every((word) => hasWord(wanted, word)));
  return tool ? { tool, rest: without(clause, match) } : null;
}

/** "calculate 2**16", "search the web for cats"; "convert 100 celsius to fahrenheit" when one tool alone converts. */
function findOrdered(clause: string, tools: ToolDefinition[]): ToolMention | null {
  const words = toWords(clause);
  const [first] = words;
  if (first === undefined || /^what|^who|^how|^is$/.test(first)) return null;
  const named = tools.filter((tool) => hasWord(toWords(tool.name), first) && !requiredOf(tool).some((key) => grave.test(key)));
  const whole = named.find(({ name }) => keyWords(name).every((word) => hasWord(words, word)));
  // Half a name is enough only where numbers say that it is meant: "write a poem" is not write_file.
  const half = named.length === 1 && /\d/.test(clause) && named[0] && numbersOf(named[0]).length > 0 ? named[0] : undefined;
  const tool = whole ?? half;
  return tool ? { tool, rest: withoutName(clause, toWords(tool.name)) } : null;
}

/** "Search the web for cats" without the words in front that are the tool's name. */
function withoutName(clause: string, name: string[]): string {
  const words = clause.split(/\s+/);
  const end = words.findIndex((word, place) => place > 0 && !/^(?:the|a|an|my)$/i.test(word) && !hasWord(name, word.toLowerCase()));
  return end < 0 ? '' : words.slice(end).join(' ');
}

/** "What's 2 to the power of 16?", "12 * 7": a sum that is asked for goes to whatever calculates; a date or a phone number is none. */
function findSum(clause: string, tools: ToolDefinition[]): ToolMention | null {
  const expression = toExpression(clause);
  if (expression === null || /^\d{1,4}([-/])\d{1,2}\1\d{1,4}$|^\d{3,}-\d{3,}$/.test(expression)) return null;
  if (expression !== clause && !/^(?:what|how much|how many|solve|work out)\b|[?=]$/i.test(clause)) return null;
  const tool = tools.find(({ name }) => toWords(name).some((word) => calculatorWords.test(word)));
  return tool ? { tool, rest: expression } : null;
}

/** "What's the weather in London?" for a tool that takes a place or the like, and nothing else that could do harm. */
function findQuestion(clause: string, tools: ToolDefinition[]): ToolMention | null {
  const words = toWords(clause);
  const match = /\b(?:in|for|of|at|about|on)\s+(.+)$/i.exec(clause);
  if (!match || !/\?$|^(?:what|how|tell|show|give|check|get)\b/i.test(clause)) return null;
  const tool = tools.find((tool) => {
    const wanted = keyWords(tool.name);
    const [only, ...others] = requiredOf(tool);
    const harmlessOnly = only !== undefined && others.length === 0 && harmless.test(only);
    return harmlessOnly && wanted.length > 0 && wanted.every((word) => hasWord(words, word));
  });
  return tool ? { tool, rest: match[0] } : null;
}

/** An arithmetic expression in a message, words of arithmetic written as signs; null when there is none. */
export function toExpression(text: string): string | null {
  const signs = text
    .replace(/[?!]+$|(?<=\d)\.$/g, '')
    .replace(/\s+to the power of\s+|\s+to the\s+(?=\d+(?:st|nd|rd|th)\b)|\s+raised to (?:the power of )?/gi, '**')
    .replace(/(?<=\d)(?:st|nd|rd|th)\b(?:\s+power)?/gi, '')
    .replace(/\s+squared\b/gi, '**2')
    .replace(/\s+plus\s+/gi, ' + ')
    .replace(/\s+minus\s+/gi, ' - ')
    .replace(/(?<=\d)\s+(?:times|multiplied by|x)\s+(?=[\d(])/gi, ' * ')
    .replace(/\s+(?:divided by|over)\s+(?=[\d(])/gi, ' / ')
    .replace(/\bthe square root of\s+(\d+(?:\.\d+)?)/gi, 'sqrt($1)');
  const match = /(?:sqrt|sin|cos|tan|log|exp|abs)?\(?-?\d[\d.,\s()+\-*/^%a-z]*/i.exec(signs)?.[0].replace(/(?<![a-z(])[a-z]{2,}(?![a-z(]).*$/i, '').trim();
  return match && /\d\s*(?:[+*/^%-]|\*\*)\s*\(?-?[\d(s]|\(.*\d.*\)/.test(match) ? match : null;
}

function requiredOf(tool: ToolDefinition): string[] {
  return Array.isArray(tool.parameters['required']) ? tool.parameters['required'].map(String) : [];
}

function numbersOf(tool: ToolDefinition): string[] {
  const properties = (tool.parameters['properties'] ?? {}) as Record<string, { type?: unknown }>;
  return Object.keys(properties).filter((key) => properties[key]?.type === 'number' || properties[key]?.type === 'integer');
}

function keyWords(name: string): string[] {
  return toWords(name).filter((word) => !plainWords.has(word));
}

function toWords(text: string): string[] {
  return text
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}

function hasWord(words: string[], word: string): boolean {
  return words.some((other) => isSameWord(word, other));
}

/** Equal up to the ending: convert and converter, calculate and calculator. */
function isSameWord(a: string, b: string): boolean {
  if (a === b) return true;
  const stem = Math.min(a.length, b.length) - 1;
  return stem >= 5 && a.slice(0, stem) === b.slice(0, stem);
}

function without(clause: string, match: RegExpExecArray): string {
  return `${clause.slice(0, match.index)} ${clause.slice(match.index + match[0].length)}`.trim();
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
