const focusable = 'a[href], button, input, select, summary, [tabindex]';

/**
 * Shows nodes in place of those that were shown before. What is the same stays as it is, so that live figures take neither the focus nor the text
 * that somebody selects.
 */
export function renew(place: Element, nodes: readonly Element[]): void {
  const old = [...place.children];
  for (const [index, node] of nodes.entries()) {
    const before = old[index];
    if (!before) place.append(node);
    else if (!before.isEqualNode(node)) exchange(before, node);
  }
  for (const gone of old.slice(nodes.length)) gone.remove();
}

function exchange(before: Element, node: Element): void {
  const at = [...before.querySelectorAll(focusable)].indexOf(document.activeElement as Element);
  before.replaceWith(node);
  if (at >= 0) node.querySelectorAll<HTMLElement>(focusable)[at]?.focus();
}
