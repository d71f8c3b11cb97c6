/** What the URL of a folder's page says of a file that is shown above it (`?preview=NAME`). */
const parameter = 'preview';

/** A file that is shown above its folder, with an entry of the history of its own: Back closes it. */
export interface Layer {
  /** Shows another file in the same entry. */
  moveTo(name: string): void;
  /** Closes it and goes back to where it was opened. */
  leave(): void;
}

type Opener = (name: string) => boolean;

const openers: Opener[] = [];
let close: (() => void) | undefined;

/**
 * Opens a layer above the folder, in an entry of the history of its own unless the URL names the file already.
 *
 * @param name of a file in the folder
 * @param onClose called once, when Back, Forward or `leave` closes it
 */
export function openLayer(name: string, onClose: () => void): Layer {
  if (askedName() !== name) history.pushState({ isLayer: true }, '', urlWith(name));
  let isOver = false;
  close = () => {
    isOver = true;
    onClose();
  };
  return {
    moveTo: (other) => history.replaceState(history.state, '', urlWith(other)),
    leave: () => {
      if (isOver) return;
      isOver = true;
      if (history.state?.isLayer) return history.back();
      // The page was loaded with the layer: before it there is something else.
      history.replaceState(null, '', urlWith());
      closeLayer();
    },
  };
}

/** Has `opener` open what the URL names, now and after each step of Back and Forward. @param opener says whether it did */
export function whenLayerIsAsked(opener: Opener): void {
  openers.push(opener);
  openAsked();
}

// The one place that hears of Back and Forward.
addEventListener('popstate', () => {
  closeLayer();
  openAsked();
});

function closeLayer(): void {
  const closing = close;
  close = undefined;
  closing?.();
}

function openAsked(): void {
  const name = askedName();
  if (name !== null && !openers.some((opener) => opener(name))) history.replaceState(null, '', urlWith());
}

function askedName(): string | null {
  return new URLSearchParams(location.search).get(parameter);
}

function urlWith(name?: string): URL {
  const url = new URL(location.href);
  if (name === undefined) url.searchParams.delete(parameter);
  else url.searchParams.set(parameter, name);
  return url;
}
