/**
 * Random texts on every platform at limits from 16 up: no part is over the limit or torn, nothing is lost, and what is rendered is
 * sound. HERMES_PROPERTY_RUNS sets the number of texts for each platform; a failure prints the seed that repeats it.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderDiscord } from '../../src/lib/markdown/discord.ts';
import { renderPlain } from '../../src/lib/markdown/plain.ts';
import { renderSlack, slackLength } from '../../src/lib/markdown/slack.ts';
import { renderTelegram, telegramLength } from '../../src/lib/markdown/telegram.ts';
import { cutMarkdown, splitMarkdown } from '../../src/lib/split-text.ts';
import { isInvisible } from '../../src/lib/visible-text.ts';
import { nastyTexts } from './markdown/nasty-texts.ts';
import { readTelegramHtml } from './markdown/telegram-html.ts';

const numRuns = Number(process.env['HERMES_PROPERTY_RUNS'] ?? 150);

interface Platform {
  measure: (markdown: string) => number;
  /** Throws or fails when the rendered part is not sound. */
  inspect: (part: string) => void;
}

const platforms: Record<string, Platform> = {
  Telegram: { measure: telegramLength, inspect: (part) => expectVisible(readTelegramHtml(renderTelegram(part)).text) },
  Slack: {
    measure: slackLength,
    inspect(part) {
      const mrkdwn = renderSlack(part);
      expectVisible(mrkdwn);
      const rest = mrkdwn.replace(/<(?:https?:\/\/|mailto:)[^<>|\s]*(?:\|[^<>\n]*)?>/gi, '').replace(/^> ?/gm, '');
      if (/[<>]|&(?!amp;|lt;|gt;)/.test(rest)) throw new Error(`unescaped in ${mrkdwn}`);
    },
  },
  Discord: { measure: (markdown) => renderDiscord(markdown).length, inspect: (part) => expectVisible(renderDiscord(part)) },
  'plain text': { measure: (markdown) => renderPlain(markdown).length, inspect: (part) => expectVisible(renderPlain(part)) },
};

function expectVisible(text: string): void {
  if (isInvisible(text)) throw new Error(`nothing to see in ${JSON.stringify(text)}`);
  if (/\p{Cs}/u.test(text)) throw new Error(`half a character in ${JSON.stringify(text)}`);
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/**
 * Fails when a part begins or ends inside of a grapheme. Only asked where each grapheme has room in a part, and not of long texts,
 * over which a segmenter takes quadratic time.
 */
function expectWholeGraphemes(source: string, limit: number, cuts: { from: number; to: number }[]): void {
  if (source.length > 4000) return;
  const ends = new Set([0]);
  let longest = 0;
  for (const { index, segment } of segmenter.segment(source)) {
    ends.add(index + segment.length);
    longest = Math.max(longest, segment.length);
  }
  if (limit < 16 + 8 * longest) return;
  for (const { from, to } of cuts) if (!ends.has(from) || !ends.has(to)) throw new Error(`torn at ${from} or ${to}`);
}

/** The law of splitMarkdown's comment, word for word. */
function holdsFor(text: string, limit: number, { measure, inspect }: Platform): void {
  const source = text.replace(/\p{Cs}/gu, '\ufffd');
  const parts = splitMarkdown(text, { limit, measure });
  const cuts = cutMarkdown(source, { limit, measure });
  expect(parts).toEqual(cuts.map(({ before, from, to, after }) => before + source.slice(from, to) + after));
  let at = 0;
  for (const { from, to } of cuts) {
    if (from < at || to <= from || !isInvisible(source.slice(at, from))) throw new Error(`lost ${JSON.stringify(source.slice(at, from))}`);
    at = to;
  }
  if (!isInvisible(source.slice(at))) throw new Error(`lost ${JSON.stringify(source.slice(at))}`);
  expectWholeGraphemes(source, limit, cuts);
  for (const part of parts) {
    if (measure(part) > limit) throw new Error(`${measure(part)} over ${limit}: ${JSON.stringify(part.slice(0, 200))}`);
    expectVisible(part);
  }
  // Many short parts are all alike; looking at the first and the last ones keeps the run quick.
  for (const part of [...parts.slice(0, 20), ...parts.slice(20).slice(-5)]) inspect(part);
}

const pieces = [
  '**', '*', '_', '~~', '`', '```', '\n```js\n', '\n```\n', '~~~\n', '\n', '\n\n', '- ', '\n  - ', '1. ', '2) ', '> ', '# ', '#### ', '|', '| a | b |\n|---|---|\n| c | d |\n', '|-|-|\n', '[', '](', '](http://x.y/z)', ')', '![', '&amp;', '&', '<', '>',
  '<!channel>', '<@U1>', 'http://a.b/c_d?e=f&g ', '\\', '  ', '    ', '\t', '---\n', '===\n', 'word ', 'One sentence. Another! ', '[a]: http://b.c\n', '[a]', '[^1]', '<br>', '<https://x>', '- [ ] ', 'x'.repeat(40),
  '😀', '👨‍👩‍👧‍👦', '🇩🇪', '👍🏽', '漢字。', 'العربية ', 'e\u0301', 'a\u0327\u0301\u0301', 'क्षि', '\u200b', '\u200d', '\ufeff', '\ud800', '\udc00', '\u0000', '\r\n', '\r', '\u00a0', '\u3000', '\u202e',
];
const piece = fc.oneof(fc.constantFrom(...pieces), fc.constantFrom(...pieces), fc.string({ unit: 'binary', maxLength: 6 }), fc.string({ unit: 'grapheme', maxLength: 6 }), fc.lorem({ maxCount: 12 }));
const text = fc.array(piece, { maxLength: 60 }).map((all) => all.join(''));
const limit = fc.oneof(fc.integer({ min: 16, max: 80 }), fc.integer({ min: 16, max: 1000 }), fc.constantFrom(2000, 3900, 4096));

describe.each(Object.entries(platforms))('split for %s', (name, platform) => {
  it('keeps its law for random texts', { timeout: 60_000 + numRuns * 20 }, () => {
    fc.assert(fc.property(text, limit, (markdown, most) => holdsFor(markdown, most, platform)), { numRuns });
  });

  it.each([16, 17, 40, 200])('keeps its law for every nasty text, at %i', (most) => {
    for (const nasty of nastyTexts) holdsFor(nasty, most, platform);
  });

  const room = name === 'Discord' ? 2000 : 4000;
  it.each(['x', 'word ', '漢字。'])('keeps its law for one line of 100,000 characters of %j', (unit) => {
    holdsFor(unit.repeat(100_000 / unit.length), room, platform);
  });

  it.each(['😀', '👨‍👩‍👧‍👦', '🇩🇪', 'e\u0301', '\u0301', '&', '*a ', '[a](b', '> a\n', '- a\n', '|a|b|\n|-|-|\n', '```\na\n', '`', '# a\n', '\n', 'a\n\n'])('keeps its law for a long text of %j, in code too', (unit) => {
    const long = unit.repeat(20_000 / unit.length);
    holdsFor(long, room, platform);
    holdsFor(`\`\`\`js\n${long}\n\`\`\``, room, platform);
  });
});

it('only calls for a few measurements of each part', () => {
  for (const unit of ['A sentence of **some** words. ', 'line\n', '- item\n', '```js\nlet a = 1;\n```\n\n', '| a |\n|---|\n| b |\n\n', 'a & b < c ']) {
    let calls = 0;
    const parts = splitMarkdown(unit.repeat(50_000 / unit.length), { limit: 4000, measure: (markdown) => (calls++, slackLength(markdown)) });
    expect(calls / parts.length).toBeLessThan(4);
  }
});
