import { describe, expect, it } from 'vitest';
import { renderDiscord } from '../../src/lib/markdown/discord.ts';
import { renderTelegram, telegramLength } from '../../src/lib/markdown/telegram.ts';
import { splitMarkdown } from '../../src/lib/split-text.ts';

const length = (markdown: string) => markdown.length;
const split = (markdown: string, limit: number, measure = length) => splitMarkdown(markdown, { limit, measure });
const words = (count: number) => Array.from({ length: count }, (_, index) => `word${index}`).join(' ');

describe('a text that fits', () => {
  it('is one part, as it is', () => {
    expect(split('  a\n\n\n**b** \n', 16)).toEqual(['  a\n\n\n**b** \n']);
  });

  it.each(['', ' \n\t', '\u200b\u2060', '\n\n\u00ad'])('is no part when there is nothing to see: %j', (text) => {
    expect(split(text, 16)).toEqual([]);
  });

  it('is measured as the platform shows it', () => {
    const text = `[a](http://x.y/${'z'.repeat(100)}) and **b**`;
    expect(split(text, 16, telegramLength)).toEqual([text]);
  });
});

describe('a text that does not fit is cut', () => {
  it('at a blank line before anything else', () => {
    expect(split('One two. Three.\nFour.\n\nFive six seven.', 32)).toEqual(['One two. Three.\nFour.', 'Five six seven.']);
  });

  it('at a line, then at a sentence, then at a word', () => {
    expect(split('One two three.\nFour five six', 20)).toEqual(['One two three.', 'Four five six']);
    expect(split('One two. Three four five', 20)).toEqual(['One two. Three four', 'five']);
    expect(split('Aa bb cc dd. Ee ff gg', 20)).toEqual(['Aa bb cc dd.', 'Ee ff gg']);
    expect(split('aaaa bbbb cccc dddd eeee', 16)).toEqual(['aaaa bbbb cccc', 'dddd eeee']);
  });

  it('at a full-width stop where there are no spaces', () => {
    expect(split('今天天气实在是很好。我们去公园散步，然后吃饭。', 16)).toEqual(['今天天气实在是很好。', '我们去公园散步，然后吃饭。']);
  });

  it('between graphemes where there is nothing else', () => {
    expect(split('👨‍👩‍👧‍👦'.repeat(3), 24)).toEqual(['👨‍👩‍👧‍👦👨‍👩‍👧‍👦', '👨‍👩‍👧‍👦']);
    expect(split('👨‍👩‍👧‍👦'.repeat(3), 27)).toEqual(['👨‍👩‍👧‍👦👨‍👩‍👧‍👦', '👨‍👩‍👧‍👦']);
    expect(split('🇩🇪'.repeat(7), 18)).toEqual(['🇩🇪'.repeat(4), '🇩🇪'.repeat(3)]);
    expect(split('e\u0301'.repeat(20), 17)).toEqual(['e\u0301'.repeat(8), 'e\u0301'.repeat(8), 'e\u0301'.repeat(4)]);
    expect(split('x'.repeat(40), 16)).toEqual(['x'.repeat(16), 'x'.repeat(16), 'x'.repeat(8)]);
  });

  it('not between a blank and the mark that stands on it', () => {
    expect(split('aaaa bbbb cccc \u0301dddd', 16)).toEqual(['aaaa bbbb', 'cccc \u0301dddd']);
  });

  it('between characters where one grapheme is over the limit', () => {
    const parts = split(`a${'\u0301'.repeat(50)}😀`, 16);
    expect(parts.join('')).toBe(`a${'\u0301'.repeat(50)}😀`);
    for (const part of parts) expect(part.length).toBeLessThanOrEqual(16);
  });

  it('not right behind a heading', () => {
    expect(split('Some words here.\n\n## Title\n\nText.', 28)).toEqual(['Some words here.', '## Title\n\nText.']);
  });

  it('so that parts are filled by half where that can be', () => {
    const parts = split(`Hi.\n\n${words(60)}`, 100);
    expect(parts[0]?.length).toBeGreaterThan(50);
  });
});

describe('what belongs together stays together', () => {
  it.each([
    ['a link', 'see [the long label](http://x.y/z) now'],
    ['an address', 'see http://example.org/a_long_path now'],
    ['inline code', 'then run `npm run build --all` now and'],
    ['a reference', 'some words here now &hellip;&hellip;&hellip; x'],
    ['emphasis', 'some words **of which some are bold** go'],
  ])('%s', (_, text) => {
    const whole = /\[.*\)|http\S*|`.*`|&\w+;|\*\*.*\*\*/.exec(text)?.[0] ?? '';
    const parts = split(text, 32);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.filter((part) => part.includes(whole))).toHaveLength(1);
  });

  it('but a link over the limit is cut and loses nothing', () => {
    const link = `[a](http://x.y/${'z'.repeat(100)})`;
    expect(split(link, 32).join('')).toBe(link);
  });

  it('an item keeps its number', () => {
    const list = Array.from({ length: 12 }, (_, index) => `${index + 1}. item`).join('\n');
    const parts = split(list, 40);
    expect(parts.join('\n')).toBe(list);
    expect(parts.map((part) => renderTelegram(part)).join('\n')).toBe(list);
  });

  it('an item that is cut inside stays text, not code', () => {
    const parts = split('1. first\n\n    - nested one\n    - nested two', 24);
    expect(parts).toEqual(['1. first', '    - nested one', '    - nested two']);
    expect(renderTelegram(parts[1] ?? '')).toBe('    • nested one');
  });

  it('a word is not moved to where it would be a marker', () => {
    for (const part of split('some words - some words - some words - 1. some', 16)) expect(part).not.toMatch(/^(?:-|1\.)/);
  });
});

describe('code that is cut', () => {
  it('is closed and opened again with its language', () => {
    expect(split('```js\nconst a = 1;\nconst b = 2;\nconst c = 3;\n```', 36)).toEqual([
      '```js\nconst a = 1;\nconst b = 2;\n```',
      '```js\nconst c = 3;\n```',
    ]);
  });

  it('keeps a longer fence, and the fences inside of it', () => {
    const parts = split('````md\n```\nx\n```\n\n```\ny\n```\n````', 28);
    expect(parts).toEqual(['````md\n```\nx\n```\n\n````', '````md\n```\ny\n```\n````']);
  });

  it('keeps its blank lines and indentation', () => {
    const body = 'if a:\n\n    b()\n\n    c()\n\n\nd()';
    const parts = split(`\`\`\`py\n${body}\n\`\`\``, 26);
    expect(parts.map((part) => part.replace(/^```py\n|\n```$/g, '')).join('\n')).toBe(body);
  });

  it('does not leave an empty block behind', () => {
    for (const limit of [20, 24, 28, 32, 40]) for (const part of split(`Some text.\n\`\`\`js\n${'abc();\n'.repeat(12)}\`\`\`\nMore.`, limit)) expect(part).not.toMatch(/```js\n```|^```$/);
  });

  it('is cut inside a line that is too long', () => {
    const parts = split(`\`\`\`\n${'x'.repeat(60)}\n\`\`\``, 40);
    expect(parts).toEqual([`\`\`\`\n${'x'.repeat(32)}\n\`\`\``, `\`\`\`\n${'x'.repeat(28)}\n\`\`\``]);
  });

  it('stays in its list and in its quote', () => {
    expect(split('- run\n  ```sh\n  aaaa\n  bbbb\n  cccc\n  ```', 30)).toEqual(['- run\n  ```sh\n  aaaa\n  ```', '  ```sh\n  bbbb\n  cccc\n  ```']);
    expect(split('> ```\n> aaaaaa\n> bbbbbb\n> ```', 24)).toEqual(['> ```\n> aaaaaa\n> ```', '> ```\n> bbbbbb\n> ```']);
  });

  it('is cut between its lines rather than inside of one', () => {
    const line = `${'word '.repeat(9)}words`;
    expect(split(`\`\`\`\nab\n${line}\ncd\n\`\`\``, 60)).toEqual(['```\nab\n```', `\`\`\`\n${line}\n\`\`\``, '```\ncd\n```']);
  });

  it('may lack its end', () => {
    expect(split('```\naaaa bbbb\ncccc dddd\neeee', 20)).toEqual(['```\naaaa bbbb\n```', '```\ncccc dddd\neeee']);
  });

  it('loses its frame where that would be over half of the message', () => {
    const parts = split('```javascript\nabcdefgh\nijklmnop\nqrstuvwx\n```', 26);
    expect(parts).toEqual(['```javascript\nabcdefgh\n```', 'ijklmnop\nqrstuvwx\n```']);
  });
});

describe('a table that is cut', () => {
  it('repeats its head', () => {
    const head = '| a | b |\n|---|---|';
    expect(split(`${head}\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |`, 40)).toEqual([`${head}\n| 1 | 2 |\n| 3 | 4 |`, `${head}\n| 5 | 6 |`]);
  });

  it('is not parted from its head, and no row is cut inside', () => {
    const table = '| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |';
    expect(split(`Hello you.\n\n${table}`, 40)).toEqual(['Hello you.', table]);
  });

  it('is measured as it is shown', () => {
    const table = `|a|b|\n|-|-|\n${'|x|yyyyyyyyyy|\n'.repeat(20)}`;
    for (const part of split(table, 200, (text) => renderDiscord(text).length)) expect(renderDiscord(part).length).toBeLessThanOrEqual(200);
  });
});

it('a quoted line that is cut goes on in a quote', () => {
  expect(split(`> ${words(8)}`, 32)).toEqual(['> word0 word1 word2 word3 word4', '> word5 word6 word7']);
});
