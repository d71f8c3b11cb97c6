// Starts Swagger UI with the API description of this service. The page loads nothing from other origins: no validator badge, no documents.
const darkSystem = matchMedia('(prefers-color-scheme: dark)');

/** Gives Swagger UI the colours of the page frame, which follow the reader's choice or the system. */
function showColours() {
  const { classList, dataset } = document.documentElement;
  classList.toggle('dark-mode', dataset.theme === undefined ? darkSystem.matches : dataset.theme === 'dark');
}

showColours();
darkSystem.addEventListener('change', showColours);

window.addEventListener('load', () => {
  const ui = window.SwaggerUIBundle({
    url: '/__svc__/openapi.yaml',
    dom_id: '#api',
    deepLinking: true,
    validatorUrl: null,
    queryConfigEnabled: false,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    requestInterceptor: (request) => {
      // A path parameter may contain several names. The service refuses an encoded slash, so the slashes between the names are decoded.
      const [path, query] = request.url.split('?', 2);
      if (path.includes('/home/')) request.url = path.replaceAll('%2F', '/') + (query === undefined ? '' : `?${query}`);
      // If no type was chosen, request the replies of the JSON API instead of those for browsers.
      const accept = request.headers.accept ?? request.headers.Accept ?? '*/*';
      if (accept === '*/*') request.headers.accept = 'application/json';
      // With this header, the browser does not open its own password dialog when the session has ended.
      request.headers['X-Requested-With'] = 'XMLHttpRequest';
      return request;
    },
    responseInterceptor: (reply) => {
      // A session that begins on this page authenticates the further requests of the page.
      if (reply.status === 200 && new URL(reply.url).pathname === '/__svc__/login') {
        const id = JSON.parse(reply.text)?.results?.[0]?.session;
        if (id) ui.preauthorizeApiKey('session', `session ${id}`);
      }
      return reply;
    },
  });
});

/** Returns a name for a field that has none, derived from the elements around it. */
function nameOf(field) {
  const parameter = field.closest('[data-param-name]')?.dataset.paramName;
  if (parameter) return parameter;
  return field.id === 'servers' ? 'Server' : 'Request body';
}

/** Parts of the page outside its main part, with names for their regions. */
const regions = { '.information-container': 'About this API', '.scheme-container': 'Server and credentials' };

const set = (element, name, value) => element.getAttribute(name) === value || element.setAttribute(name, value);

// Adds names, heading levels and roles, which Swagger UI omits and screen readers need. Called repeatedly, because Swagger UI renders
// repeatedly.
function mend() {
  const each = (selector, action) => document.querySelectorAll(`#api ${selector}`).forEach(action);
  for (const level of ['3', '4', '5']) each(`h${level}`, (heading) => set(heading, 'aria-level', String(level - 1)));
  for (const [selector, name] of Object.entries(regions)) {
    each(selector, (region) => {
      set(region, 'role', 'region');
      set(region, 'aria-label', name);
    });
  }
  // A link inside a button cannot be reached with the keyboard. The button does the same as the link.
  each('.opblock-summary-control a[href]', (link) => link.removeAttribute('href'));
  each('select:not([aria-label]), textarea:not([aria-label]), [data-param-name] input:not([aria-label])', (field) =>
    set(field, 'aria-label', nameOf(field)),
  );
  each('table[role=region]', (table) => table.removeAttribute('role'));
  each('.close-modal', (button) => set(button, 'aria-label', 'Close'));
  each('.dialog-ux', (dialog) => {
    set(dialog, 'role', 'dialog');
    set(dialog, 'aria-modal', 'true');
    set(dialog, 'aria-label', 'Available authorizations');
  });
  each('button[aria-label]', (button) => {
    const [text, label] = [button.textContent.trim(), button.getAttribute('aria-label')];
    if (!label.toLowerCase().includes(text.toLowerCase())) button.setAttribute('aria-label', `${text}: ${label}`);
  });
}

window.addEventListener('load', () => {
  new MutationObserver(mend).observe(document.getElementById('api'), { childList: true, subtree: true });
  mend();
});
