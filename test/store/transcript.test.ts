/** The transcript is the journal of running turns and the memory of ended ones: whole turns, newest first, searchable in any script. */
import { describe, expect, test } from 'vitest';
import type { AssistantEntry, Entry, ToolEntry, UserEntry } from '../../src/contract/transcript.ts';
import type { TurnEnd } from '../../src/store/commit-turn.ts';
import { admitAll, chat, openTestStore, part, type TestStore } from './support.ts';

const now = 1000;
const user = (turnId: string, text: string): UserEntry => ({ role: 'user', turnId, text });
const answer = (turnId: string, text: string): AssistantEntry => ({ role: 'assistant', turnId, text, toolCalls: [] });
const call = (turnId: string, id: string): AssistantEntry => ({ role: 'assistant', turnId, text: '', toolCalls: [{ id, name: 'look', args: { at: 'it' } }] });
const result = (turnId: string, id: string, text: string | null): ToolEntry => ({ role: 'tool', turnId, toolCallId: id, name: 'look', text });

async function openSession(store: TestStore, key = 'key', owner = 'owner'): Promise<string> {
  const { session } = await store.sessions.open({ key, owner, address: chat(), now, settings: {}, isOver: () => null });
  return session.id;
}

async function begin(store: TestStore, sessionId: string, turnId: string, text: string, inboxIds: number[] = []): Promise<void> {
  await store.transcript.beginTurn({ turnId, sessionId, model: 'm', context: 'kept context', entry: user(turnId, text), inboxIds, now });
}

function end(sessionId: string, turnId: string, text: string, given: Partial<TurnEnd> = {}): TurnEnd {
  const usage = { input: 10, output: 5, cached: 2, requests: 1 };
  return { turnId, sessionId, state: 'answered', answer: text, code: null, model: 'm', steps: 1, usage, entry: answer(turnId, text), parts: [], preview: null, inboxIds: [], inboxState: 'answered', now, ...given };
}

async function tell(store: TestStore, sessionId: string, turnId: string, question: string, reply: string): Promise<void> {
  await begin(store, sessionId, turnId, question);
  await store.commitTurn(end(sessionId, turnId, reply));
}

const texts = (entries: Entry[]) => entries.map(({ text }) => text);

describe('the journal', () => {
  test('a turn that died can be taken up: its rows know it, its context and each entry are there', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    const ids = await admitAll(store, 'lane', ['look at it']);
    await store.inbox.claimNext('lane', now, false);
    await begin(store, session, 't1', 'look at it', ids);
    await store.transcript.append(session, call('t1', 'c1'), now);
    await store.transcript.append(session, result('t1', 'c1', null), now);
    const later = store.reopen();
    await later.inbox.recover();
    const claim = await later.inbox.claimNext('lane', now, false);
    expect(claim.rows?.[0].turnId).toBe('t1');
    expect(later.transcript.turn('t1')).toMatchObject({ state: 'running', context: 'kept context', sessionId: session });
    expect(later.transcript.turnEntries('t1')).toEqual([user('t1', 'look at it'), call('t1', 'c1'), result('t1', 'c1', null)]);
    await later.transcript.finishTool(session, result('t1', 'c1', 'seen'), now);
    expect(later.transcript.turnEntries('t1')).toEqual([user('t1', 'look at it'), call('t1', 'c1'), result('t1', 'c1', 'seen')]);
  });

  test('a result without a start is added, and a result is written once', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    await begin(store, session, 't1', 'look');
    await store.transcript.finishTool(session, result('t1', 'c1', 'first'), now);
    await store.transcript.finishTool(session, result('t1', 'c2', 'other'), now);
    expect(texts(store.transcript.turnEntries('t1'))).toEqual(['look', 'first', 'other']);
  });

  test('a message that steered the turn ends its own row with the same commit', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    await begin(store, session, 't1', 'look');
    const ids = await admitAll(store, 'lane', ['left, please', 'no, right']);
    await store.transcript.append(session, user('t1', 'left, please\n\nno, right'), now, ids);
    expect(ids.map((id) => store.inbox.look(id))).toEqual(ids.map(() => ({ state: 'answered', turnId: 't1' })));
    expect(store.inbox.waiting('lane')).toBe(0);
  });
});

describe('the end of a turn', () => {
  test('goes together with a beginning that waited for it, and is refused where there is none', async () => {
    let commits = 0;
    const store = openTestStore({ beforeCommit: () => void (commits += 1) });
    const session = await openSession(store);
    const before = commits;
    const begun = store.transcript.beginTurn({ turnId: 't1', sessionId: session, model: 'm', context: '', entry: user('t1', 'hi'), inboxIds: [], isUrgent: false, now });
    await Promise.all([begun, store.commitTurn(end(session, 't1', 'hello'))]);
    expect(commits - before).toBe(1);
    expect(store.transcript.turnEntries('t1').map(({ text }) => text)).toEqual(['hi', 'hello']);
    await expect(store.commitTurn(end(session, 't2', 'hello'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(store.transcript.turnEntries('t2')).toEqual([]);
  });

  test('answer, parts, inbox rows and counts are one transaction: with the commit failing none of it is there', async () => {
    let isFull = false;
    const store = openTestStore({
      beforeCommit() {
        if (isFull) throw new Error('disk full');
      },
    });
    const session = await openSession(store);
    const ids = await admitAll(store, 'lane', ['hi']);
    await store.inbox.claimNext('lane', now, false);
    await begin(store, session, 't1', 'hi', ids);
    const turnEnd = end(session, 't1', 'hello', { parts: [part('hello')], inboxIds: ids });
    isFull = true;
    await expect(store.commitTurn(turnEnd)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const look = () => ({ turn: store.transcript.turn('t1')?.state, entries: texts(store.transcript.turnEntries('t1')), parts: store.outbox.ofOrigin('turn', 't1').length, row: store.inbox.look(ids[0] ?? 0)?.state, turns: store.sessions.get(session)?.turns });
    expect(look()).toEqual({ turn: 'running', entries: ['hi'], parts: 0, row: 'running', turns: 0 });
    isFull = false;
    // Nothing of it comes later either, with the next transaction.
    await admitAll(store, 'another lane', ['hello']);
    expect(look()).toEqual({ turn: 'running', entries: ['hi'], parts: 0, row: 'running', turns: 0 });
    await store.commitTurn(turnEnd);
    expect(look()).toEqual({ turn: 'answered', entries: ['hi', 'hello'], parts: 1, row: 'answered', turns: 1 });
  });

  test('a preview becomes the first part; one that nothing follows is left as it was shown', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    for (const turnId of ['t1', 't2']) {
      await begin(store, session, turnId, 'hi');
      const preview = await store.outbox.openPreview(part('Hel', { turnId }), now);
      await store.outbox.previewSent(preview.id, `m-${turnId}`);
      const taken = turnId === 't1' ? { id: preview.id, payload: { ...preview.payload, text: 'Hello.' }, notBefore: 0 } : null;
      await store.commitTurn(end(session, turnId, 'Hello.', { preview: taken }));
    }
    expect(['t1', 't2'].flatMap((turnId) => store.outbox.ofOrigin('turn', turnId)).map(({ state, payload }) => [state, payload.text])).toEqual([['waiting', 'Hello.'], ['dropped', 'Hel']]);
  });

  test('calls that never got a result are given one when the turn is ended from outside', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    await begin(store, session, 't1', 'look');
    const two: AssistantEntry = { ...call('t1', 'c1'), toolCalls: [...call('t1', 'c1').toolCalls, ...call('t1', 'c2').toolCalls] };
    await store.transcript.append(session, two, now);
    await store.transcript.append(session, result('t1', 'c1', null), now);
    await store.commitTurn(end(session, 't1', 'given up', { state: 'failed', lateResults: [result('t1', 'c1', 'unknown'), result('t1', 'c2', 'unknown')] }));
    expect(store.transcript.turnEntries('t1')).toEqual([user('t1', 'look'), two, result('t1', 'c1', 'unknown'), result('t1', 'c2', 'unknown'), answer('t1', 'given up')]);
  });
});

describe('history', () => {
  test('the newest whole turns come back, oldest first; a turn is never cut', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    for (const n of [1, 2, 3, 4]) await tell(store, session, `t${n}`, `question ${n}`, 'x'.repeat(100));
    const turns = (maxChars: number) => [...new Set(store.transcript.history(session, 0, maxChars).map(({ turnId }) => turnId))];
    expect(turns(10_000)).toEqual(['t1', 't2', 't3', 't4']);
    expect(turns(150)).toEqual(['t3', 't4']);
    expect(turns(1)).toEqual(['t4']);
    for (const maxChars of [1, 50, 111, 150, 300]) expect(store.transcript.history(session, 0, maxChars)[0]?.role).toBe('user');
  });

  test('a long one is whole and in order, however many batches it is read in', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    const other = await openSession(store, 'other');
    const told: string[] = [];
    for (let n = 0; n < 125; n++) {
      await tell(store, session, `t${n}`, `q${n}`, `a${n}`);
      await tell(store, other, `o${n}`, 'elsewhere', 'elsewhere');
      told.push(`q${n}`, `a${n}`);
      // Around the end of the first batch and of the second every length is tried.
      if (n > 46 && n < 53) expect(texts(store.transcript.history(session, 0, 100_000))).toEqual(told);
    }
    expect(texts(store.transcript.history(session, 0, 100_000))).toEqual(told);
  });

  test('it begins where the summary ends and leaves the running turn out', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    for (const n of [1, 2, 3]) await tell(store, session, `t${n}`, `q${n}`, `a${n}`);
    const first = store.transcript.firstEntryOf('t2') ?? 0;
    await store.sessions.compacted(session, 'a summary', first);
    expect(store.sessions.get(session)).toMatchObject({ id: session, summary: 'a summary', summaryBefore: first });
    expect(texts(store.transcript.history(session, first, 10_000))).toEqual(['q2', 'a2', 'q3', 'a3']);
    expect(texts(store.transcript.history(session, first, 10_000, 't3'))).toEqual(['q2', 'a2']);
    expect(store.transcript.firstEntryOf('never')).toBe(null);
  });

  test('what a message brings along survives the store', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    const entry: UserEntry = { role: 'user', turnId: 't1', text: '', media: [{ path: '/p', mime: 'image/png', name: 'n', kind: 'image' }], note: 'sent 20 minutes ago' };
    await store.transcript.beginTurn({ turnId: 't1', sessionId: session, model: 'm', context: '', entry, inboxIds: [], now });
    expect(store.transcript.turnEntries('t1')).toEqual([entry]);
  });

  test('the first line of the first message is the title', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    await tell(store, session, 't1', `${'é'.repeat(70)}\nmore`, 'a');
    await tell(store, session, 't2', 'another', 'a');
    expect(store.sessions.get(session)?.title).toBe('é'.repeat(60));
  });
});

describe('undo', () => {
  test('the last turn is taken out of later requests and stays searchable', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    await tell(store, session, 't1', 'first question', 'first answer');
    await tell(store, session, 't2', 'second question', 'second answer');
    expect(await store.transcript.undoLast(session, 7)).toEqual(user('t2', 'second question'));
    expect(texts(store.transcript.history(session, 0, 10_000))).toEqual(['first question', 'first answer']);
    expect(store.transcript.search('second', { owner: 'owner', roles: ['user'], limit: 5 })).toHaveLength(1);
    expect(await store.transcript.undoLast(session, 8)).toEqual(user('t1', 'first question'));
    expect(await store.transcript.undoLast(session, 9)).toBe(null);
  });

  test('the same command asking again after a death undoes nothing more', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    await tell(store, session, 't1', 'first', 'a');
    await tell(store, session, 't2', 'second', 'a');
    for (let time = 0; time < 3; time++) expect((await store.reopen().transcript.undoLast(session, 7))?.text).toBe('second');
    expect(texts(store.reopen().transcript.history(session, 0, 10_000))).toEqual(['first', 'a']);
  });

  test('of a turn that was steered the question is given back', async () => {
    const store = openTestStore();
    const session = await openSession(store);
    await begin(store, session, 't1', 'the question');
    await store.transcript.append(session, call('t1', 'c1'), now);
    await store.transcript.finishTool(session, result('t1', 'c1', 'seen'), now);
    await store.transcript.append(session, user('t1', 'by the way'), now);
    await store.commitTurn(end(session, 't1', 'done'));
    expect((await store.transcript.undoLast(session, 7))?.text).toBe('the question');
    expect(store.transcript.history(session, 0, 10_000)).toEqual([]);
  });
});

describe('search', () => {
  async function library() {
    const store = openTestStore();
    const mine = await openSession(store, 'k1', 'ann');
    const other = await openSession(store, 'k2', 'bob');
    await tell(store, mine, 't1', 'Wie heißt die Hauptstadt von Österreich?', 'Wien.');
    await tell(store, mine, 't2', '东京的天气怎么样？今天下雨吗', '東京は雨です。');
    await tell(store, mine, 't3', 'what does `foo->bar(&baz)` do', 'It calls fs.readFileSync("x_y%z").');
    await tell(store, other, 't4', 'my secret is Hauptstadt', 'noted');
    await begin(store, mine, 't5', 'run it');
    await store.transcript.append(mine, call('t5', 'c1'), now);
    await store.transcript.finishTool(mine, result('t5', 'c1', `${'z'.repeat(1990)} early ${'z'.repeat(500)} late`), now);
    const find = (query: string, given: { owner?: string | null; exceptSession?: string; roles?: string[] } = {}) => store.transcript.search(query, { owner: 'ann', roles: ['user', 'assistant', 'tool'], limit: 10, ...given });
    return { store, mine, find };
  }

  test.each([
    ['words in any order', 'Österreich heißt', 't1'],
    ['part of a word', 'auptsta', 't1'],
    ['three Chinese characters', '天气怎', 't2'],
    ['two Chinese characters', '下雨', 't2'],
    ['one Japanese character', '雨', 't2'],
    ['code', 'foo->bar(&baz)', 't3'],
    ['quotes in code', 'readFileSync("x_y%z")', 't3'],
    ['short code', '&b', 't3'],
  ])('finds %s', async (_, query, turnId) => {
    const { store, find } = await library();
    const hits = find(query);
    expect(hits.length).toBeGreaterThan(0);
    const ids = new Set(store.transcript.turnEntries(turnId).map(({ text }) => text));
    for (const hit of hits) expect(ids).toContain(hit.text);
  });

  test('it stays with one owner, leaves a session out when asked, and looks into the roles it is told', async () => {
    const { mine, find } = await library();
    expect(find('Hauptstadt').map(({ sessionId }) => sessionId)).toEqual([mine]);
    expect(find('Hauptstadt', { owner: null })).toHaveLength(2);
    expect(find('Hauptstadt', { exceptSession: mine })).toEqual([]);
    expect(find('Wien', { roles: ['user'] })).toEqual([]);
    expect(find('Wien', { roles: ['assistant'] })).toHaveLength(1);
  });

  test('a wildcard is a character, nothing and blanks find nothing, and no query breaks it', async () => {
    const { find } = await library();
    expect(find('%')).toHaveLength(1);
    for (const query of ['', '   ', '_%_', '" OR ""', "'; DROP TABLE entries; --", '*', 'NEAR(', 'a AND NOT b', '\u0000']) expect(() => find(query)).not.toThrow();
    expect(find('')).toEqual([]);
  });

  test('of a long tool result the beginning is indexed', async () => {
    const { find } = await library();
    expect(find('early')).toHaveLength(1);
    expect(find('late')).toEqual([]);
  });

  test('a page stands around an entry, or at the end', async () => {
    const { store, mine, find } = await library();
    const [hit] = find('東京は雨');
    const page = store.transcript.page(mine, hit?.entryId ?? 0, 4);
    expect(page.map(({ text }) => text.slice(0, 4))).toEqual(['Wien', '东京的天', '東京は雨', 'what', 'It c']);
    expect(store.transcript.page(mine, null, 2).map(({ role }) => role)).toEqual(['assistant', 'tool']);
  });
});
