/**
 * The page: logs in, asks, shows. It talks to the origin that it came from and to nothing else. A question that has no end yet,
 * because the line broke or the page was loaded again, is asked once more with the same key; the gateway makes one turn of it.
 */
import { setText, setTool, settle, toWholeText } from './answer.ts';
import { ask } from './ask.ts';
import { watchLogin } from './login.ts';
import { freshMemory, loadMemory, randomId, saveMemory, type Turn } from './memory.ts';
import { createView, type TurnView } from './view.ts';

function find<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element as T;
}

let memory = loadMemory(localStorage);
let running = 0;
const text = find<HTMLTextAreaElement>('text');
const stop = find('stop');
const state = find('state');
const view = createView({ log: find('log'), empty: find('empty'), scroller: find('scroller'), toEnd: find('to-end'), onChoice: (choice) => void send(choice) });
const login = watchLogin(begin);

/** The page is ours: show what was said and go on where it was left. */
function begin(): void {
  find('chat').hidden = false;
  for (const turn of memory.turns) {
    const shown = view.add(turn);
    if (turn.end) shown.show();
    else void follow(turn, shown);
  }
  view.toEnd();
  if (matchMedia('(pointer: fine)').matches) text.focus();
}

async function send(words: string): Promise<void> {
  if (!words.trim()) return;
  const turn: Turn = { key: randomId(), text: words, parts: [] };
  memory.turns.push(turn);
  saveMemory(localStorage, memory);
  const shown = view.add(turn);
  view.toEnd();
  await follow(turn, shown);
}

/** Asks until there is an end. */
async function follow(turn: Turn, shown: TurnView): Promise<void> {
  const { session } = memory;
  const isHere = () => memory.session === session;
  setRunning(running + 1);
  for (let attempt = 0; isHere() && !turn.end; attempt += 1) {
    if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, Math.min(15_000, 500 * 2 ** attempt)));
    turn.parts = [];
    shown.show();
    const ending = await ask({ key: turn.key, session, text: turn.text }, {
      onText(all) {
        state.textContent = '';
        setText(turn.parts, all);
        shown.show();
      },
      onTool(tool) {
        setTool(turn.parts, tool);
        shown.show();
      },
      onNotice(notice) {
        turn.parts.push({ kind: 'notice', text: notice });
        shown.show();
      },
      onQuestion(question, choices) {
        turn.parts.push({ kind: 'question', text: question, choices });
        shown.show();
        announce(question);
      },
    });
    if (ending.status === 'logged_out') {
      login.show('You were signed out. Sign in again; the answer is kept.');
      break;
    }
    if (ending.status === 'unreachable') {
      state.textContent = 'No connection, trying again …';
      continue;
    }
    state.textContent = '';
    turn.parts = settle(turn.parts);
    turn.end = ending.status === 'failed' ? { status: 'failed', message: ending.message } : { status: ending.status };
    announce(ending.status === 'failed' ? ending.message : toWholeText(turn.parts) || 'Stopped.');
  }
  setRunning(running - 1);
  shown.show();
  if (isHere()) saveMemory(localStorage, memory);
}

/** /stop goes beside the turn that it ends; what it says is no part of the conversation. */
async function stopTurn(): Promise<void> {
  const silence = () => undefined;
  const ending = await ask({ key: randomId(), session: memory.session, text: '/stop' }, { onText: silence, onTool: silence, onNotice: silence, onQuestion: silence });
  if (ending.status === 'failed') state.textContent = ending.message;
}

function setRunning(count: number): void {
  running = count;
  stop.hidden = running === 0;
}

function announce(words: string): void {
  find('announcer').textContent = words;
}

function submit(): void {
  const words = text.value;
  if (!words.trim()) return;
  text.value = '';
  fit();
  void send(words);
}

/** The field grows with its text, up to what the style sheet allows. */
function fit(): void {
  text.style.height = 'auto';
  text.style.height = `${text.scrollHeight}px`;
}

text.addEventListener('input', fit);
text.addEventListener('keydown', (event) => {
  // Enter that ends the composition of a word is not Enter that sends.
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  submit();
});
find('composer').addEventListener('submit', (event) => {
  event.preventDefault();
  submit();
  text.focus();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && running > 0) void stopTurn();
});
stop.addEventListener('click', () => void stopTurn());
find('to-end').addEventListener('click', () => view.toEnd());
find('new-chat').addEventListener('click', () => {
  memory = freshMemory();
  saveMemory(localStorage, memory);
  view.clear();
  state.textContent = '';
  announce('New chat');
  text.focus();
});
void login.check();
