import { describe, expect, it } from 'vitest';
import { renderSlack, slackLength } from '../../../src/lib/markdown/slack.ts';
import { isInvisible } from '../../../src/lib/visible-text.ts';
import { nastyTexts } from './nasty-texts.ts';

describe('what Slack is sent', () => {
  it.each<[string, string, string]>([
    ['marks', '**b** _i_ ~~s~~ `c`', '*b* _i_ ~s~ `c`'],
    ['a mark over two lines as two', '**a\nb**', '*a*\n*b*'],
    ['a mark inside a word', 'a**b**c **注意：**请', 'a\u200b*b*\u200bc *注意：*\u200b请'],
    ['signs that look like marks', '2 * 3 * 4 snake_case_name', '2 * 3 * 4 snake_case_name'],
    ['a link', '[a](https://x.y/z_(w)?q=1&r=2)', '<https://x.y/z_(w)?q=1&amp;r=2|a>'],
    ['a link whose address has a bar', '[a|b](http://x.y/c|d)', '<http://x.y/c%7Cd|a|b>'],
    ['a link with marks inside', '[**a**\nb](http://x.y)', '<http://x.y|a b>'],
    ['a link without a label', '[](http://x.y) <http://x.y>', '<http://x.y> <http://x.y>'],
    ['an address', 'see http://x.y/a?b&c.', 'see <http://x.y/a?b&amp;c>.'],
    ['no other scheme', '[a](slack://channel?id=1) [b](javascript:x)', 'a (slack://channel?id=1) b (javascript:x)'],
    ['an image as a link', '![alt](http://i.j)', '<http://i.j|alt>'],
    ['signs of its own markup as text', 'a < b & c > d', 'a &lt; b &amp; c &gt; d'],
    ['signs in code', '`<a>` \n```html\n<b> & </b>\n```', '`&lt;a&gt;`\n```\n&lt;b&gt; &amp; &lt;/b&gt;\n```'],
    ['a fence inside code', '````\n```\nx\n```\n````', '```\n``\u200b`\nx\n``\u200b`\n```'],
    ['code that holds a backtick', '`` a`b ``', 'a`b'],
    ['a quote', '> a\n> b\n> > c', '> a\n> b\n> &gt; c'],
    ['code in a quote', '> a\n> ```\n> b\n> ```', '> a\n```\nb\n```'],
    ['lists', '1. a\n   - b\n     c\n2. d', '1. a\n   ◦ b\n     c\n2. d'],
    ['a table', '|a|b|\n|-|-|\n|1|<2>|', '```\na | b\n--+----\n1 | &lt;2&gt;\n```'],
    ['a heading', '# a **b**', '*a b*'],
  ])('%s', (_, markdown, mrkdwn) => {
    expect(renderSlack(markdown)).toBe(mrkdwn);
  });

  it.each(nastyTexts)('has no angle bracket but those of links, for %j', (text) => {
    const mrkdwn = renderSlack(text);
    const rest = mrkdwn.replace(/<(?:https?:\/\/|mailto:)[^<>|\s]*(?:\|[^<>\n]*)?>/gi, '').replace(/^> ?/gm, '');
    expect(rest).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
    expect(mrkdwn).not.toMatch(/\p{Cs}/u);
    expect(isInvisible(mrkdwn)).toBe(isInvisible(text));
  });

  it('is counted in bytes', () => {
    expect(slackLength('漢<')).toBe(3 + '&lt;'.length);
  });
});
