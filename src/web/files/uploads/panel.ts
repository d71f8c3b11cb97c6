import { displayName } from '../../../lib/display-name.ts';
import { Speed } from '../../../lib/rate-meter.ts';
import { icon, iconButton, make, makeButton } from '../../shared/dom.ts';
import { durationText, sizeText } from '../../shared/locale.ts';
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import type { UploadQueue } from './queue.ts';
import { hasAccount, heldPage } from './requests.ts';
import { isOver, isResumable, type Upload, uploadPath } from './upload.ts';
import { type UploadTextName, uploadText } from './upload-text.ts';

/** Maximum number of uploads in the list. Nobody would read thousands of lines. */
const maxShown = 100;

const rank: Readonly<Record<Upload['state'], number>> = {
  running: 0,
  failed: 1,
  paused: 2,
  waiting: 3,
  cancelled: 4,
  skipped: 5,
  held: 6,
  done: 7,
};

interface Line {
  element: HTMLLIElement;
  title: HTMLElement;
  progress: HTMLProgressElement;
  state: HTMLElement;
  halt: HTMLButtonElement;
  end: HTMLButtonElement;
  shownState: Upload['state'] | undefined;
}

/** Screens on which the panel is folded at first. */
const smallScreen = matchMedia('(max-width: 40rem)');

/** Builds the panel that shows the queue at the bottom of the page. */
export function uploadPanel(queue: () => UploadQueue) {
  const lines = new Map<Upload, Line>();
  const speed = new Speed();
  const summary = make('p.hint');
  const total = make('progress', { max: 1, ariaLabel: uploadText('totalProgress') });
  const list = make('ul', { tabIndex: 0, ariaLabel: uploadText('uploads') });
  const said = make('p.hidden', { role: 'status' });
  const forAll = (name: UploadTextName, action: (upload: Upload) => void) =>
    makeButton(uploadText(name), undefined, () => [...queue().uploads].forEach(action), 'quiet');
  const pauseAll = forAll('pauseAll', (upload) => queue().pause(upload));
  const resumeAll = forAll('resumeAll', (upload) => queue().resume(upload));
  const cancelAll = forAll('cancelAll', (upload) => queue().cancel(upload));
  const retryAll = forAll('retryAll', (upload) => upload.state === 'failed' && queue().retry(upload));
  const close = iconButton(text('close'), 'close', () => {
    queue().clear();
    element.hidden = true;
  });
  const fold = iconButton('', 'down', () => setFolded(!isFolded));
  const buttons = make('div.row', retryAll, resumeAll, pauseAll, cancelAll, fold, close);
  const header = make('header', make('h2', uploadText('uploads')), buttons, summary, total);
  const element = make('section.queue', { hidden: true, ariaLabel: uploadText('uploads') }, header, list, said);
  document.body.append(element);
  let isFolded = false;
  let hasFailed = false;
  const setFolded = (folded: boolean) => {
    isFolded = folded;
    element.classList.toggle('folded', folded);
    list.hidden = folded;
    fold.ariaExpanded = String(!folded);
    fold.ariaLabel = fold.title = uploadText(folded ? 'unfoldPanel' : 'foldPanel');
    if (!element.hidden) draw();
  };
  // Make room for the panel at the bottom of the page.
  const root = document.documentElement;
  new ResizeObserver(() => {
    root.toggleAttribute('data-queue', !element.hidden);
    // Set the height only while the panel is visible, because each change makes the browser compute the styles of the whole page again.
    if (!element.hidden) root.style.setProperty('--queue-height', `${element.offsetHeight}px`);
  }).observe(element);

  const draw = () => {
    const { uploads } = queue();
    const isBusy = queue().isBusy();
    const has = (...states: Upload['state'][]) => uploads.some((upload) => states.includes(upload.state));
    // On small screens, the panel is folded each time it appears.
    if (element.hidden && uploads.length > 0) {
      hasFailed = false;
      setFolded(smallScreen.matches);
    }
    // The first failure unfolds the panel, because only the list has the reason. Afterwards, the user decides.
    if (!hasFailed && has('failed')) {
      hasFailed = true;
      if (isFolded) setFolded(false);
    }
    element.hidden = uploads.length === 0;
    const shown = [...uploads].sort((a, b) => rank[a.state] - rank[b.state]).slice(0, maxShown);
    for (const [upload, line] of lines) {
      if (shown.includes(upload)) continue;
      line.element.remove();
      lines.delete(upload);
    }
    order(shown.map(drawLine));
    pauseAll.hidden = isFolded || (!has('waiting') && !uploads.some((upload) => upload.state === 'running' && isResumable(upload)));
    resumeAll.hidden = isFolded || !pauseAll.hidden || !has('paused');
    cancelAll.hidden = isFolded || !isBusy;
    close.hidden = isBusy;
    retryAll.hidden = isFolded || !uploads.some(({ state, isRefused }) => state === 'failed' && !isRefused);
    drawTotal(isBusy);
  };

  // Do not move a line that is already in its place, because a moved line loses the focus.
  const order = (elements: readonly HTMLElement[]) => {
    const focused = document.activeElement;
    for (const [index, line] of elements.entries()) {
      const present = list.children[index];
      if (present !== line) list.insertBefore(line, present ?? null);
    }
    if (focused instanceof HTMLElement && focused !== document.activeElement) focused.focus({ preventScroll: true });
  };

  const drawTotal = (isBusy: boolean) => {
    const chosen = [...queue().batch];
    const countOf = (state: Upload['state']) => chosen.filter((upload) => upload.state === state).length;
    const wanted = chosen.filter(({ state }) => state !== 'cancelled' && state !== 'skipped');
    const sum = (bytesOf: (upload: Upload) => number) => wanted.reduce((all, upload) => all + bytesOf(upload), 0);
    const size = sum(({ file }) => file.size);
    const hasCome = ({ state }: Upload) => state === 'done' || state === 'held';
    const sent = sum((upload) => (hasCome(upload) ? upload.file.size : upload.sentBytes));
    const done = wanted.filter(hasCome).length;
    total.value = size === 0 ? Number(!isBusy) : sent / size;
    speed.note(sent - sum(({ foundBytes }) => foundBytes), performance.now());
    const { bytesPerSecond } = speed;
    const isMoving = wanted.some(({ state, isReconnecting }) => state === 'running' && !isReconnecting);
    const hasTime = isMoving && bytesPerSecond !== undefined && bytesPerSecond > 0;
    const time = hasTime && uploadText('timeLeft', { time: durationText((size - sent) / bytesPerSecond, 'long') });
    const failed = countOf('failed');
    const waits = wanted.some(({ state, isReconnecting }) => state === 'running' && isReconnecting) && !isMoving;
    total.hidden = wanted.length === 0;
    total.classList.toggle('failed', failed > 0);
    const parts = total.hidden
      ? []
      : isFolded
        ? [text('running', { done, total: wanted.length }), waits && uploadText('reconnecting')]
        : [
            wanted.length > 1 && uploadText('filesDone', { done, count: wanted.length }),
            text('running', { done: sizeText(sent), total: sizeText(size) }),
          ];
    if (queue().isSignedOut()) parts.push(uploadText('signInFirst'));
    else if (hasTime) parts.push(!isFolded && uploadText('speed', { speed: sizeText(bytesPerSecond) }), time);
    const failure = failed > 0 && uploadText('failedCount', { count: failed });
    parts.push(failure);
    const checking = chosen.filter(isBeingChecked).length;
    const held = countOf('held') - chosen.filter(({ state, isChecking }) => state === 'held' && isChecking).length;
    if (checking > 0) parts.push(uploadText('checkingCount', { count: checking }));
    // The line of a single upload says it already.
    const review = held > 0 && (isFolded || wanted.length > 1) && uploadText('heldCount', { count: held });
    parts.push(review);
    total.classList.toggle('review', held + checking > 0);
    summary.classList.toggle('whole', held + failed > 0);
    const [skipped, cancelled] = [countOf('skipped'), countOf('cancelled')];
    if (skipped > 0) parts.push(uploadText('skippedCount', { count: skipped }));
    if (cancelled > 0) parts.push(uploadText('cancelledCount', { count: cancelled }));
    const shown = parts.filter((part) => part !== false);
    // An unchanged line stays as it is, because its link can have the focus.
    if (summary.textContent === shown.join(' · ')) return;
    const nodes = shown.map((part) => (part === review ? reviewMark(part) : part === failure ? make('span.failure', part) : part));
    summary.replaceChildren(...nodes.flatMap((node, index) => (index > 0 ? [' · ', node] : [node])));
  };

  const drawLine = (upload: Upload) => {
    const line = lines.get(upload) ?? addLine(upload);
    // The path can change: a file gets a new name if the user keeps both files.
    const path = displayName(uploadPath(upload));
    if (line.title.title !== path) {
      line.title.title = line.progress.ariaLabel = path;
      line.title.replaceChildren(make('bdi', path));
    }
    line.progress.hidden = upload.state !== 'running' && upload.state !== 'paused';
    line.progress.value = upload.file.size === 0 ? 0 : upload.sentBytes / upload.file.size;
    const shown = [stateText(upload), upload.remark].filter((part) => part !== '').join(' · ');
    // An unchanged text stays as it is, because its link can have the focus.
    if (line.state.textContent !== shown)
      line.state.replaceChildren(upload.state === 'held' && !upload.isChecking ? reviewMark(shown) : shown);
    if (line.shownState === upload.state) return line.element;
    line.shownState = upload.state;
    line.element.className = upload.state;
    const halt = upload.state === 'paused' ? 'resume' : 'pause';
    line.halt.hidden = isOver(upload) || !isResumable(upload);
    label(line.halt, uploadText(halt), upload, icon(halt));
    const canRetry = !upload.isRefused && (upload.state === 'failed' || upload.state === 'cancelled');
    line.end.hidden = isOver(upload) && !canRetry;
    const end = canRetry ? uploadText('retry') : text('cancel');
    label(line.end, end, upload, canRetry ? end : icon('close'));
    return line.element;
  };

  const addLine = (upload: Upload): Line => {
    const progress = make('progress', { max: 1 });
    const state = make('span.hint');
    const halt = makeButton('', undefined, () => (upload.state === 'paused' ? queue().resume(upload) : queue().pause(upload)), 'quiet');
    const end = makeButton('', undefined, () => (isOver(upload) ? queue().retry(upload) : queue().cancel(upload)), 'quiet');
    const title = make('span.title');
    const item = make('li', title, make('span.buttons', halt, end), state, progress);
    const line = { element: item, title, progress, state, halt, end, shownState: undefined };
    lines.set(upload, line);
    return line;
  };

  let frame = 0;
  return {
    say: (message: string) => {
      said.textContent = message;
    },
    update: () => {
      if (frame > 0) return;
      frame = requestAnimationFrame(() => {
        frame = 0;
        draw();
      });
    },
  };
}

function label(button: HTMLButtonElement, name: string, { name: fileName }: Upload, shown: Node | string): void {
  button.replaceChildren(shown);
  button.ariaLabel = name + text('colon') + fileName;
}

/** Marks a text about held uploads. For accounts, it is a link to them; visitors of a link cannot open that page. */
function reviewMark(shown: string): HTMLElement {
  return hasAccount() ? make('a.review', { href: heldPage }, shown) : make('span.review', shown);
}

/** Returns whether a file has arrived and waits for the verdict of an inspection. */
function isBeingChecked({ state, sentBytes, file, isReconnecting, isChecking }: Upload): boolean {
  return state === 'held' ? isChecking : state === 'running' && !isReconnecting && sentBytes === file.size && may('inspected');
}

function stateText(upload: Upload): string {
  const { state, sentBytes, file, reason, isReconnecting } = upload;
  const soFar = text('running', { done: sizeText(sentBytes), total: sizeText(file.size) });
  if (state === 'running' && isBeingChecked(upload)) return `${soFar} · ${uploadText('checking')}`;
  if (state === 'running') return isReconnecting ? `${soFar} · ${uploadText('reconnecting')}` : soFar;
  if (state === 'paused') return sentBytes > 0 ? `${soFar} · ${uploadText('paused')}` : uploadText('paused');
  if (state === 'held' && upload.isChecking) return uploadText('checking');
  return state === 'failed' ? uploadText('failed', { reason }) : uploadText(state);
}
