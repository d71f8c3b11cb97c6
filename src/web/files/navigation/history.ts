import { layerParameter, pageUrl } from './folder.ts';

interface State {
  /** Position among the entries of this window. */
  index: number;
  /** Whether the entry was added for a layer, that is, for the preview of a file, which covers its folder. */
  isLayer?: true;
  /** Whether the entry was added for a part of a layer, for example for a file in an archive. */
  isPart?: true;
}

type Opener = (name: string) => boolean;
type Traveller = (page: URL) => Promise<unknown>;

let open: Opener | undefined;
let travel: Traveller | undefined;
let close: (() => void) | undefined;
let leavePart: (() => void) | undefined;

let index = (history.state as State | null)?.index ?? 0;
history.replaceState({ ...history.state, index }, '');

/** Index of the current history entry of this window. */
export function entryIndex(): number {
  return index;
}

/**
 * Adds a history entry for another page or an open file. The Back button, or closing the file, returns to the previous entry.
 *
 * @param url URL of the page or file
 */
export function pushPage(url: URL): void {
  const isLayer = url.searchParams.has(layerParameter) && { isLayer: true };
  history.pushState({ index: ++index, ...isLayer }, '', url);
}

/**
 * Returns to the entry whose page is still shown. Called if the page of the current entry cannot be shown.
 *
 * @param to index of the shown entry
 */
export function stepBack(to: number): void {
  if (to !== index) history.go(to - index);
}

/** Registers `traveller`, which shows the page to which Back or Forward leads. Its promise must not reject. */
export function whenPageIsAsked(traveller: Traveller): void {
  travel = traveller;
}

/**
 * Opens a layer, that is, the preview of a file, which covers its folder. The layer gets its own history entry, so that Back closes the
 * layer. If the URL already names the file, no entry is added.
 * @param onClose called once, when the layer is closed by Back, Forward or `leave`
 */
export function openLayer(name: string, onClose: () => void) {
  if (askedName() !== name) history.pushState({ index: ++index, isLayer: true }, '', urlWith(name));
  let isOver = false;
  close = () => {
    isOver = true;
    onClose();
  };
  const leave = () => {
    if (isOver || leavePart === leave) return;
    if (history.state?.isPart) {
      leavePart = leave;
      return history.back();
    }
    isOver = true;
    if (history.state?.isLayer) return history.back();
    // The page was loaded with the layer open, so the previous entry is another page.
    history.replaceState({ index }, '', urlWith());
    closeLayer();
  };
  return {
    moveTo: (other: string) => {
      leavePart = undefined;
      history.replaceState(history.state, '', urlWith(other));
    },
    leave,
  };
}

/** Adds an entry for a part of the open layer, so that Back leaves only the part. @param onBack called when the user goes back */
export function openPart(onBack: () => void): void {
  history.pushState({ index: ++index, isLayer: true, isPart: true }, '', location.href);
  leavePart = onBack;
}

/** Registers `opener`, which opens the file that the URL names. @param opener returns whether it opened the file */
export function whenLayerIsAsked(opener: Opener): void {
  open = opener;
}

/** Opens the file that the URL names. If it cannot be opened, the name is removed from the URL. */
export function openAskedLayer(): void {
  const name = askedName();
  if (name !== null && !open?.(name)) history.replaceState(history.state, '', urlWith());
}

// The only listener for Back, Forward and links to fragments of the page. A link to a fragment adds an entry without a state.
addEventListener('popstate', async () => {
  const leaving = leavePart;
  leavePart = undefined;
  if (leaving && history.state?.index === index - 1) {
    index--;
    return leaving();
  }
  closeLayer();
  if (history.state === null) history.replaceState({ index: index + 1 }, '');
  index = (history.state as State).index;
  await travel?.(pageUrl(location.href));
  openAskedLayer();
});

function closeLayer(): void {
  const closing = close;
  close = undefined;
  closing?.();
}

function askedName(): string | null {
  return new URLSearchParams(location.search).get(layerParameter);
}

function urlWith(name?: string): URL {
  const url = new URL(location.href);
  if (name === undefined) url.searchParams.delete(layerParameter);
  else url.searchParams.set(layerParameter, name);
  return url;
}
