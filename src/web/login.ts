/** Signing in and out. The cookie is the browser's and out of this code's sight; what is seen is whether the gateway takes it. */

export interface Login {
  /** Shows the page when the cookie is good, else the form. */
  check(): Promise<void>;
  show(note?: string): void;
}

export function watchLogin(onLoggedIn: () => void): Login {
  const element = (id: string) => document.getElementById(id) as HTMLElement;
  const input = element('login-key') as HTMLInputElement;
  const error = element('login-error');

  const show = (note?: string) => {
    element('chat').hidden = true;
    element('login').hidden = false;
    if (note) element('login-note').textContent = note;
    input.focus();
  };
  const check = async () => {
    try {
      const { status } = await fetch('/v1/models');
      if (status === 200) return onLoggedIn();
      show(location.hash === '#link-used' ? 'That link was used before or is older than ten minutes. Sign in with the key, or start the gateway again for a new link.' : undefined);
      if (status !== 401) error.textContent = `The gateway answers with status ${status}.`;
    } catch {
      show('The gateway cannot be reached.');
      setTimeout(() => location.reload(), 3_000);
    }
  };
  const signIn = async () => {
    error.textContent = '';
    try {
      const response = await fetch('/login', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ key: input.value.trim() }) });
      if (response.ok) return location.replace('/');
      const body = (await response.json()) as { error?: { message?: string } };
      error.textContent = body.error?.message ?? 'That did not work.';
    } catch {
      error.textContent = 'The gateway cannot be reached.';
    }
    input.select();
  };
  element('login-form').addEventListener('submit', (event) => {
    event.preventDefault();
    void signIn();
  });
  element('logout').addEventListener('click', () => {
    void fetch('/logout', { method: 'POST' }).finally(() => {
      // What was said here is not for whoever sits down next.
      localStorage.clear();
      location.replace('/');
    });
  });
  return { check, show };
}
